"""Which sizes of a source are axes, and other points at which the reference still works.

A size is an axis if the shape of an input or a weight changes with it. A workload is kept if the
reference traces at its sizes to a graph of the same structure. All of this runs on shapes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernelwright.core.errors import ProblemError
from kernelwright.core.problem import Axis, Workload
from kernelwright.graph.capture import trace_structure
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import Outline, outline_or_none

_DOUBLED_BYTES = 64 << 20
"""Inputs up to this size may be doubled in a derived workload."""
_SMALL_BYTES = 8 << 20
_LEAST = 8
"""Sizes up to this stay in the small workload: they are windows, groups and the like."""
_MOST_WORKLOADS = 12
_MOST_HALVINGS = 8


def find_axes(origin: Origin, base: Outline) -> tuple[Axis, ...]:
    """The axes of a source, in its order."""
    sizes = origin.sizes()
    structure = _structure(base) if origin.depends_on_forward() else None
    if structure is None and origin.depends_on_forward():
        return ()
    found: list[Axis] = []
    excluded: set[str] = set()
    for name, size in sizes.items():
        if name in excluded:
            continue
        if any(_varies(origin, base, {name: other}, structure) for other in _others(size)):
            found.append(Axis(name=name, size=size))
            excluded |= origin.excludes(name)
    return tuple(found)


def find_workloads(origin: Origin, base: Outline, axes: tuple[Axis, ...]) -> tuple[Workload, ...]:
    """The base point; all axes small, halved and odd; then one axis odd, one larger, halved or doubled."""
    sizes = {axis.name: axis.size for axis in axes}
    found = [Workload(name="base", axes=sizes)]
    structure = _structure(base)
    if structure is None:
        return tuple(found)
    seen = {tuple(sizes.items())}
    small = _small(origin, base, sizes, structure)
    if small is not None:
        seen.add(tuple(small.items()))
        found.append(Workload(name="all_small", axes=small))
    for name, changed in _candidates(sizes, base):
        point = {**sizes, **changed}
        if tuple(point.items()) in seen or len(found) == _MOST_WORKLOADS:
            continue
        seen.add(tuple(point.items()))
        if _same_structure(origin, point, structure):
            found.append(Workload(name=name, axes=point))
    return tuple(found)


def _small(origin: Origin, base: Outline, sizes: dict[str, int], structure: str) -> dict[str, int] | None:
    """All axes divided by one power of two, until the tensors are small; None if they are already."""
    best: dict[str, int] | None = None
    least = base.total_bytes
    for power in range(1, _MOST_HALVINGS + 1):
        if least <= _SMALL_BYTES:
            break
        point = {name: max(size >> power, _LEAST) if size > _LEAST else size for name, size in sizes.items()}
        made = outline_or_none(origin, point)
        if made is not None and made.total_bytes < least and _traces_to(made, structure):
            best, least = point, made.total_bytes
    return best


def _candidates(sizes: Mapping[str, int], base: Outline) -> Iterator[tuple[str, dict[str, int]]]:
    halves = {name: size // 2 for name, size in sizes.items() if size > 1}
    odd = {name: max(1, size // 4) | 1 for name, size in sizes.items() if size > 1}
    yield "all_half", halves
    yield "all_odd", odd
    for name in odd:
        yield f"{name}_odd", {name: odd[name]}
    for name, size in sizes.items():
        yield f"{name}_plus1", {name: size + 1}
    for name in halves:
        yield f"{name}_half", {name: halves[name]}
    for name, size in sizes.items() if base.input_bytes <= _DOUBLED_BYTES else ():
        yield f"{name}_double", {name: 2 * size}


def _others(size: int) -> list[int]:
    """Other values to try for a size, those first that divide and are divided well."""
    return [
        other
        for other in dict.fromkeys([2 * size, size // 2, size + 1, size - 1])
        if other > 0 and other != size
    ]


def _varies(origin: Origin, base: Outline, changed: dict[str, int], structure: str | None) -> bool:
    other = outline_or_none(origin, changed)
    if other is None or other.shapes.keys() != base.shapes.keys() or other.shapes == base.shapes:
        return False
    return structure is None or _traces_to(other, structure)


def _same_structure(origin: Origin, point: dict[str, int], structure: str) -> bool:
    other = outline_or_none(origin, point)
    return other is not None and _traces_to(other, structure)


def _traces_to(other: Outline, structure: str) -> bool:
    return _structure(other) == structure


def _structure(made: Outline) -> str | None:
    """Structure of the traced graph, or None where the reference cannot be traced."""
    try:
        return trace_structure(made.module, made.arguments)
    except ProblemError:
        return None
