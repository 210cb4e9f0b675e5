"""The oracle over some rows at a time, for problems whose float64 values would not fit otherwise.

    rows = independent_rows(module, args, shapes, captured)     # None where rows are not independent
    for part in rows.parts():
        rows.oracle(part)(rows.cut(args, part), weights)   # the same as rows `part` of the whole

A row is an index of the first dimension that all results share with some of the inputs. That rows are
independent is shown, not assumed: the reference traced at fewer rows is the same graph with equally long
reductions, and a few rows of these very inputs give together what they give one half at a time.

Not covered: independence along other dimensions; references that change tensors, draw random numbers or
cannot be captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError
from kernelwright.graph.capture import Captured, capture, module_tensors
from kernelwright.graph.oracle import Oracle, oracle
from kernelwright.verify.counts import operation_counts

BLOCK = 1 << 25
"""Elements, about, of the largest tensor that are looked at together: 256 MiB in float64."""
PROBED = 8
"""Rows of each half in the test, at most."""
SAME = 1e-10
"""Largest relative distance of the two, in norm: float64 sums in another order are nearer, a float32's
roundoff is 600 times as much."""


@dataclass
class Rows:
    """Which arguments are cut into rows, and the oracle of a block of them."""

    module: Callable[..., Any]
    leaves: frozenset[int]
    """Numbers of the arguments' leaves that have rows."""
    count: int
    """Rows in all."""
    block: int
    """Rows that are looked at together, at most."""
    oracles: dict[int, Oracle] = field(default_factory=dict)
    """By number of rows."""

    def parts(self) -> Iterator[slice]:
        """Blocks of nearly the same size that cover all rows, in order."""
        blocks = -(-self.count // self.block)
        for number in range(blocks):
            yield slice(number * self.count // blocks, (number + 1) * self.count // blocks)

    def cut(self, args: Sequence[Any], part: slice) -> list[Any]:
        """The arguments at these rows: views."""
        leaves, form = pytree.tree_flatten(list(args))
        some = [leaf[part] if number in self.leaves else leaf for number, leaf in enumerate(leaves)]
        found: list[Any] = pytree.tree_unflatten(some, form)
        return found

    def oracle(self, part: slice) -> Oracle:
        """The reference in float64 for as many rows as these."""
        return self.oracles[part.stop - part.start]


def independent_rows(
    module: Callable[..., Any], args: Sequence[Any], shapes: Sequence[Sequence[int]], captured: Captured
) -> Rows | None:
    """How to cut this problem into rows, or None. `shapes` are those of the reference's results."""
    counts = {shape[0] if shape else 0 for shape in shapes}
    if len(counts) != 1 or max(counts) < 2 or captured.random or any(captured.returned):
        return None
    count = counts.pop()
    leaves = pytree.tree_leaves(list(args))
    with_rows = [number for number, leaf in enumerate(leaves) if _has_rows(leaf, count)]
    largest = max(prod(shape) for shape in (*shapes, *(leaves[number].shape for number in with_rows)))
    block = min(max(BLOCK // max(largest // count, 1), 1), count)
    for chosen in _choices(with_rows):
        rows = Rows(module, chosen, count, block)
        if _independent(rows, args, captured):
            return rows
    return None


def _has_rows(leaf: Any, count: int) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0 and leaf.shape[0] == count


def _choices(with_rows: Sequence[int]) -> list[frozenset[int]]:
    """All that could be cut, then each alone: in a product of square matrices only one has the rows."""
    every = frozenset(with_rows)
    return [every, *(frozenset([one]) for one in with_rows)] if len(with_rows) > 1 else [every] * bool(every)


def _independent(rows: Rows, args: Sequence[Any], captured: Captured) -> bool:
    half = max(min(rows.block // 2, rows.count // 2, PROBED), 1)
    try:
        found = {size: capture(rows.module, rows.cut(args, slice(0, size))) for size in _sizes(rows, half)}
    except ProblemError:
        return False
    counts = operation_counts(captured)
    if any(one.signature != captured.signature or operation_counts(one) != counts for one in found.values()):
        return False
    rows.oracles.update((size, oracle(one)) for size, one in found.items())
    return _adds_up(rows, args, half)


def _sizes(rows: Rows, half: int) -> set[int]:
    """Sizes of the test's blocks, and of those that will be used."""
    return {half, 2 * half, *(part.stop - part.start for part in rows.parts())}


def _adds_up(rows: Rows, args: Sequence[Any], half: int) -> bool:
    """Whether two halves give what they give together."""
    weights = _weights(rows.module)
    first, second, both = (
        rows.oracle(part)(rows.cut(args, part), weights)
        for part in (slice(0, half), slice(half, 2 * half), slice(0, 2 * half))
    )
    return all(_same(torch.cat((a, b)), whole) for a, b, whole in zip(first, second, both, strict=True))


def _weights(module: Callable[..., Any]) -> dict[str, Tensor]:
    if not isinstance(module, torch.nn.Module):
        return {}
    return {name: tensor.detach() for name, tensor in module_tensors(module).items()}


def _same(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or not a.is_floating_point():
        return torch.equal(a, b)
    finite = torch.isfinite(b)
    odd_alike = torch.equal(a[~finite].nan_to_num(nan=0.5), b[~finite].nan_to_num(nan=0.5))
    distance = torch.linalg.vector_norm(a[finite] - b[finite])
    return odd_alike and bool(distance <= SAME * torch.linalg.vector_norm(b[finite]))
