"""Worker side: contents that no call has met before, at the same addresses.

Some elements of a slot's inputs take the values of others, at places that a seed says; the old values are
kept, to be put back. No new value comes in, and shapes and addresses stay, so what a reference may
assume of single values still holds. Contents are always those that were drawn, or one such step away.

Not covered: inputs that the problem changes in place, and layouts in which elements overlap.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.execute.state import BenchState, Slot, bench_state

CHANGED = 64
"""Elements of each tensor that take another's value, at most: few enough to cost nothing, many enough that
most samples of a large output can be of what they move."""


def stir(state: dict[str, Any], *, slot: str, seed: int) -> bool:
    """Put old values back, then change contents by `seed`. False where nothing can be changed."""
    bench = bench_state(state)
    place = bench.slot(slot)
    _put_back(bench, place)
    tensors = _changeable(bench, place)
    place.stirred = [_change(flat, seed + number) for number, flat in enumerate(tensors)]
    return bool(tensors)


def settle(state: dict[str, Any], *, slot: str) -> None:
    """Put old values back, if the slot is there."""
    bench = bench_state(state)
    if slot in bench.slots:
        _put_back(bench, bench.slots[slot])


def _put_back(bench: BenchState, place: Slot) -> None:
    if place.stirred:
        for flat, (at, values) in zip(_changeable(bench, place), place.stirred, strict=True):
            flat[at] = values
    place.stirred = []


def _change(flat: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Give some elements the values of others; where, and what was there."""
    at, source = (places.to(flat.device) for places in _places(flat.numel(), seed))
    before = flat[at]
    flat[at] = flat[source]
    return at, before


def _places(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two lists of places of a flat tensor, all distinct."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(count, (4 * CHANGED,), generator=generator)
    distinct = torch.tensor(sorted(set(drawn.tolist())))
    order = distinct[torch.randperm(distinct.numel(), generator=generator)]
    some = min(CHANGED, order.numel() // 2)
    return order[:some], order[some : 2 * some]


def _changeable(bench: BenchState, place: Slot) -> list[Tensor]:
    """Flat views of the floating-point inputs, or of the others where none is; none where one is mutated."""
    if any(spec.name in bench.problem.mutated for spec in bench.problem.inputs):
        return []
    leaves = [leaf for leaf in pytree.tree_leaves(place.args) if isinstance(leaf, Tensor)]
    floating = [leaf for leaf in leaves if leaf.is_floating_point()]
    flats = [_flat(leaf) for leaf in floating or leaves]
    return [flat for flat in flats if flat is not None and flat.numel() > 1]


def _flat(tensor: Tensor) -> Tensor | None:
    """All elements in the order of memory, as a view; None where they overlap or lie apart."""
    order = sorted(range(tensor.dim()), key=lambda dim: tensor.stride(dim), reverse=True)
    dense = tensor.detach().permute(order)
    return dense.view(-1) if dense.is_contiguous() else None
