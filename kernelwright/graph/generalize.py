"""`generalize`: a partition that serves any value of the axes along which it only repeats itself.

A graph is captured at fixed sizes. It is captured and cut again with one axis one larger, for each
axis; where only numbers differ, they become expressions over that axis. What was found is then tested
with all such axes moved at once: far above, and at the smallest values at which the reference still
traces to the same graph. An axis that fails, or that the kernels want as a literal, stays as it was: the
domain says `axis == size`.

Not covered: a reference that branches on a size beyond the points looked at. The judge runs kernels at
other sizes of their domain for that reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kernelwright.core.errors import ProblemError
from kernelwright.core.expr import Expr
from kernelwright.graph.affine import agrees, fit
from kernelwright.graph.capture import Captured
from kernelwright.graph.cut import Partition, cut
from kernelwright.graph.numbers import Numbers, graph_numbers, numbers_of, with_numbers

Elsewhere = Callable[[Mapping[str, int]], Captured | None]
"""The graph at other axis values; None where the reference refuses them."""

LEAST = (1, 2, 4, 16)
"""Smallest values that are tried for a free axis."""


def generalize(
    captured: Captured,
    axes: Mapping[str, int],
    elsewhere: Elsewhere,
    literals: Callable[[Partition], frozenset[str]],
) -> Partition:
    """Cut `captured`, taken at `axes`, and free the axes that can be. ProblemError as from `cut`.

    `literals` says of a partition in expressions which axes must not be in them.
    """
    points = _Points(cut(captured, axes), graph_numbers(captured), axes, elsewhere)
    free = [axis for axis in axes if points.beside(axis) is not None]
    while free:
        wanted = literals(points.partition(free, {}))
        free = [axis for axis in free if axis not in wanted]
        if not free:
            break
        least = points.least(free) if points.holds_above(free) else None
        if least is not None:
            return points.partition(free, least)
        alone = [axis for axis in free if points.holds_above([axis]) and points.least([axis]) is not None]
        free = alone if len(alone) < len(free) else free[:-1]
    return points.base


@dataclass
class _Points:
    """The base point, and what was seen at others."""

    base: Partition
    graph: Numbers
    axes: Mapping[str, int]
    elsewhere: Elsewhere
    _beside: dict[str, tuple[list[int], list[int]] | None] = field(default_factory=dict)

    @cached_property
    def _cut(self) -> Numbers:
        return numbers_of(self.base)

    def beside(self, axis: str) -> tuple[list[int], list[int]] | None:
        """Numbers of the graph and of the partition with the axis one larger; None if they are others."""
        if axis not in self._beside:
            self._beside[axis] = self._at({**self.axes, axis: self.axes[axis] + 1})
        return self._beside[axis]

    def _at(self, point: Mapping[str, int]) -> tuple[list[int], list[int]] | None:
        captured = self.elsewhere(point)
        graph = self._graph_at(captured)
        if captured is None or graph is None:
            return None
        try:
            text, numbers = numbers_of(cut(captured, point))
        except ProblemError:
            return None
        return (graph, numbers) if text == self._cut[0] else None

    def _graph_at(self, captured: Captured | None) -> list[int] | None:
        if captured is None:
            return None
        text, numbers = graph_numbers(captured)
        return numbers if text == self.graph[0] else None

    def _exprs(self, which: int, free: Sequence[str]) -> list[Expr]:
        """Expressions for the numbers of the graph (0) or of the partition (1)."""
        values = (self.graph, self._cut)[which][1]
        moved = {axis: seen[which] for axis in free if (seen := self.beside(axis)) is not None}
        return [
            fit(self.axes, value, {axis: seen[at] for axis, seen in moved.items()})
            for at, value in enumerate(values)
        ]

    def holds_above(self, free: Sequence[str]) -> bool:
        """Whether graph and partition are as expressed where all free axes are larger, none by the same."""
        point = {**self.axes, **{axis: 2 * self.axes[axis] + 3 + 2 * at for at, axis in enumerate(free)}}
        seen = self._at(point)
        return seen is not None and all(
            _agree(self._exprs(which, free), point, values) for which, values in enumerate(seen)
        )

    def least(self, free: Sequence[str]) -> dict[str, int] | None:
        """The smallest values at which the graph, free axes all small, is as expressed."""
        lows = dict.fromkeys(free, min(LEAST))
        if self._holds_at(lows):
            return lows
        for axis in free:
            found = next((low for low in LEAST if self._holds_at({axis: low}, free)), None)
            if found is None:
                return None
            lows[axis] = found
        return lows if self._holds_at(lows) else None

    def _holds_at(self, values: Mapping[str, int], free: Sequence[str] | None = None) -> bool:
        """Whether the graph is as expressed over `free` where those axes have these values."""
        point = {**self.axes, **values}
        numbers = self._graph_at(self.elsewhere(point))
        return numbers is not None and _agree(self._exprs(0, free or list(values)), point, numbers)

    def partition(self, free: Sequence[str], least: Mapping[str, int]) -> Partition:
        """The partition with `free` axes in expressions."""
        domain = [
            f"{axis} >= {least.get(axis, 1)}" if axis in free else f"{axis} == {size}"
            for axis, size in self.axes.items()
        ]
        return with_numbers(self.base, self._exprs(1, free), " and ".join(domain))


def _agree(exprs: Sequence[Expr], point: Mapping[str, int], values: Sequence[int]) -> bool:
    return all(agrees(expr, point, value) for expr, value in zip(exprs, values, strict=True))
