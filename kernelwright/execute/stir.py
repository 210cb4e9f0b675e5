"""Worker side: contents that no call has met before, at the same addresses.

`stir`: some elements of a slot's inputs take the values of others, at places that a seed says; the old
values are kept, to be put back. No new value comes in, and shapes and addresses stay, so what a reference may
assume of single values still holds. Contents are those that were drawn, or one such step away.

`touch`: one element of one tensor. `draw_anew`: all of them, from another seed.

Not covered: inputs that the problem changes in place, and layouts in which elements overlap.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.execute.refill import alike, refill
from kernelwright.execute.state import BenchState, Slot, bench_state

CHANGED, TOGETHER = 16, 64
"""Elements of each tensor, and of all, that take another's value, at most. They are written under the clock
(0.5 us each), and the fewer they are, the less likely a look at some elements meets one."""

Change = tuple[Tensor, Tensor, Tensor]
"""A flat view of a tensor, places in it, and what was there."""


def stir(state: dict[str, Any], *, slot: str, seed: int) -> bool:
    """Put old values back, then change contents by `seed`. False where nothing can be changed."""
    bench = bench_state(state)
    place = bench.slot(slot)
    _put_back(bench, place)
    tensors = _changeable(bench, place)
    each = min(CHANGED, max(TOGETHER // max(len(tensors), 1), 1))
    place.stirred = [_change(flat, seed + number, each) for number, flat in enumerate(tensors)]
    return bool(tensors)


def touch(state: dict[str, Any], *, slot: str, seed: int) -> bool:
    """Put old values back, then change one element of one tensor: a floating one becomes a normal number,
    which the tensor may never have had, another takes the value of a third."""
    bench = bench_state(state)
    place = bench.slot(slot)
    _put_back(bench, place)
    flats = [flat for leaf in _leaves(bench, place) if (flat := _flat(leaf)) is not None and flat.numel()]
    if not flats:
        return False
    place.stirred = [_novel(flats[seed % len(flats)], seed)]
    return True


def draw_anew(state: dict[str, Any], *, slot: str, seed: int) -> bool:
    """Contents of the slot's draw from another seed, in the same memory. False where that cannot be."""
    bench = bench_state(state)
    place = bench.slot(slot)
    if not _all(bench, place):
        return False
    found = bench.reference.draw(seed, place.draw)
    if not alike(place.args, found):
        return False
    place.stirred, place.anew = [], True  # nothing is put back first: all of it is written over
    refill(place.args, found)
    return True


def changes(state: dict[str, Any], *, slot: str) -> list[dict[str, Any]]:
    """The change in force, for each tensor: at how many bytes from its begin, what is there and what was.

    Elements are bytes in hexadecimal.
    """
    bench = bench_state(state)
    place = bench.slot(slot)
    return [
        {
            "at": (at * flat.element_size()).tolist(),
            "now": _elements(flat[at]),
            "before": _elements(values),
        }
        for flat, at, values in place.stirred
    ]


def addresses(state: dict[str, Any], *, slot: str, whole: bool) -> list[tuple[int, int]]:
    """Where the tensors lie that `draw_anew` changes (`whole`), or `stir`; and their bytes."""
    bench = bench_state(state)
    chosen = _all if whole else _changeable
    return [(flat.data_ptr(), flat.nbytes) for flat in chosen(bench, bench.slot(slot))]


def settle(state: dict[str, Any], *, slot: str) -> None:
    """Contents as they were drawn, if the slot is there."""
    bench = bench_state(state)
    if slot in bench.slots:
        _put_back(bench, bench.slots[slot])


def redraw(state: dict[str, Any], *, slot: str) -> None:
    """Draw the slot's contents again, because another process has written others there."""
    bench_state(state).slot(slot).redraw()


def _put_back(bench: BenchState, place: Slot) -> None:
    if place.anew:
        place.redraw()
    for flat, at, values in place.stirred:
        flat[at] = values
    place.stirred = []


def _change(flat: Tensor, seed: int, wanted: int) -> Change:
    """Give some elements the values of others."""
    at, source = (places.to(flat.device) for places in _places(flat.numel(), seed, wanted))
    before = flat[at]
    flat[at] = flat[source]
    return flat, at, before


def _novel(flat: Tensor, seed: int) -> Change:
    """Give one element another value."""
    generator = torch.Generator().manual_seed(seed)
    at = torch.randint(flat.numel(), (1,), generator=generator).to(flat.device)
    before = flat[at]
    if flat.is_floating_point():
        flat[at] = torch.randn(1, generator=generator, dtype=torch.float64).to(flat)
    else:
        flat[at] = flat[torch.randint(flat.numel(), (1,), generator=generator).to(flat.device)]
    return flat, at, before


def _elements(values: Tensor) -> list[str]:
    rows = values.cpu().contiguous().view(-1, 1).view(torch.uint8)
    return [bytes(row).hex() for row in rows.tolist()]


def _places(count: int, seed: int, wanted: int) -> tuple[Tensor, Tensor]:
    """Two lists of `wanted` places of a flat tensor, or fewer, all distinct."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(count, (4 * wanted,), generator=generator)
    distinct = torch.tensor(sorted(set(drawn.tolist())))
    order = distinct[torch.randperm(distinct.numel(), generator=generator)]
    some = min(wanted, order.numel() // 2)
    return order[:some], order[some : 2 * some]


def _changeable(bench: BenchState, place: Slot) -> list[Tensor]:
    """Flat views of the floating-point inputs, or of the others where none is; none where one is mutated."""
    leaves = _leaves(bench, place)
    floating = [leaf for leaf in leaves if leaf.is_floating_point()]
    flats = [_flat(leaf) for leaf in floating or leaves]
    return [flat for flat in flats if flat is not None and flat.numel() > 1]


def _all(bench: BenchState, place: Slot) -> list[Tensor]:
    """Flat views of all inputs; none where one is mutated or not dense."""
    flats = [_flat(leaf) for leaf in _leaves(bench, place)]
    dense = [flat for flat in flats if flat is not None]
    return dense if len(dense) == len(flats) else []


def _leaves(bench: BenchState, place: Slot) -> list[Tensor]:
    if bench.problem.changes_inputs:
        return []
    return [leaf for leaf in pytree.tree_leaves(place.args) if isinstance(leaf, Tensor)]


def _flat(tensor: Tensor) -> Tensor | None:
    """All elements in the order of memory, as a view; None where they overlap or lie apart."""
    order = sorted(range(tensor.dim()), key=lambda dim: tensor.stride(dim), reverse=True)
    dense = tensor.detach().permute(order)
    return dense.view(-1) if dense.is_contiguous() else None
