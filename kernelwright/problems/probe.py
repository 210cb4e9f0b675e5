"""Shapes at other points of a problem, from which sizes are expressed over axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.problem import Problem
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import Outline, Shape, outline_or_none


@dataclass(frozen=True)
class Point:
    """Axis values, and the shape of every input, weight and (where it ran) output there."""

    axes: Mapping[str, int]
    shapes: Mapping[str, Shape]


def points(origin: Origin, problem: Problem, base: Outline, returned: Sequence[torch.Tensor]) -> list[Point]:
    """The base point first, then one or two with each axis alone changed, then the derived workloads."""
    sizes = problem.axis_sizes
    shapes = {**base.shapes, **_numbered(returned)}
    found = [Point(sizes, shapes)]
    for axes in _other_points(problem):
        made = outline_or_none(origin, axes)
        if made is not None and made.shapes.keys() == base.shapes.keys():
            found.append(Point(axes, {**made.shapes, **_outputs(made)}))
    return found


def _other_points(problem: Problem) -> Iterator[dict[str, int]]:
    sizes = problem.axis_sizes
    for name, size in sizes.items():
        for other in dict.fromkeys([2 * size, 3 * size, size // 2]):
            if other:
                yield {**sizes, name: other}
    for workload in problem.workloads[1:]:
        yield workload.axes


def _outputs(made: Outline) -> dict[str, Shape]:
    """Shapes of what the module returns on the meta device; nothing where it does not run there."""
    try:
        with torch.no_grad():
            leaves = pytree.tree_leaves(made.module(*made.arguments))
    except (RuntimeError, ValueError, TypeError, NotImplementedError):
        return {}
    return _numbered([leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])


def _numbered(tensors: Sequence[torch.Tensor]) -> dict[str, Shape]:
    return {f"output {i}": tuple(int(size) for size in tensor.shape) for i, tensor in enumerate(tensors)}
