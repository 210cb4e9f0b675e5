"""Smaller sizes inside a kernel's domain, for draws that need not be as large as the problem.

A kernel that serves any number of rows rounds alike in each of them: what adversarial values do to it
shows in some hundred thousand elements. So axes that the domain leaves open, and that only say how often
the same is done, are made small, as long as every input and output keeps `ENOUGH` elements.

Which axes those are is not told by the domain. `narrowings` proposes points from shapes alone, and whoever
uses one checks that the reference runs there and folds as many elements into one as before
(`compare.form_at`): a long sum is never tested on a short one. Not covered: kernels for exact sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from kernelwright.core.errors import UsageError
from kernelwright.core.expr import evaluate, holds
from kernelwright.core.problem import Problem, Workload

ENOUGH = 1 << 16
"""Elements that every input and output keeps, where it has so many."""
WORTH = 8
"""How many times fewer elements a point must have to be worth the trouble."""


def narrowings(problem: Problem, domain: str) -> Iterator[Workload]:
    """Points inside `domain` with far fewer elements: all open axes small, then each one alone."""
    base = {**problem.axis_sizes, **problem.base.axes}
    opened = [axis for axis in base if base[axis] > 1 and _open(domain, base, axis)]
    groups = [opened, *([axis] for axis in opened)] if len(opened) > 1 else [opened]
    whole, seen = sum(_elements(problem, base)), [base]
    for group in groups:
        point = _shrunk(problem, domain, base, group)
        if point not in seen and sum(_elements(problem, point)) * WORTH <= whole:
            yield Workload(name="narrowed", axes=point)
        seen.append(point)


def _open(domain: str, base: dict[str, int], axis: str) -> bool:
    """Whether the domain takes any value of this axis, as far as three of them tell."""
    return all(_inside(domain, {**base, axis: value}) for value in (1, 3, base[axis] + 1))


def _shrunk(problem: Problem, domain: str, base: dict[str, int], axes: Sequence[str]) -> dict[str, int]:
    """`base` with these axes halved, the longest first, while enough is left; then odd where that fits."""
    point, waiting = dict(base), list(axes)
    while waiting:
        axis = max(waiting, key=point.__getitem__)
        smaller = {**point, axis: point[axis] // 2}
        if point[axis] > 1 and _enough(problem, smaller, base) and _inside(domain, smaller):
            point = smaller
        else:
            waiting.remove(axis)
    for axis in axes:
        odd = {**point, axis: point[axis] | 1}
        if point[axis] > 1 and _inside(domain, odd):
            point = odd
    return point


def _enough(problem: Problem, point: dict[str, int], base: dict[str, int]) -> bool:
    pairs = zip(_elements(problem, point), _elements(problem, base), strict=True)
    return all(left >= min(ENOUGH, whole) for left, whole in pairs)


def _elements(problem: Problem, axes: dict[str, int]) -> list[int]:
    """Elements of each input and output."""
    specs = (*problem.inputs, *problem.outputs)
    return [prod(evaluate(size, axes) for size in spec.shape) for spec in specs]


def _inside(domain: str, axes: dict[str, int]) -> bool:
    try:
        return holds(domain, axes)
    except UsageError:
        return False
