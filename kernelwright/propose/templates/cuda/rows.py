"""Which dimensions make a row, and in what vectors a thread walks along it.

Where rows do not all begin at multiples of a vector (50257 columns), vectors are laid at multiples in
memory instead: a row then begins and ends inside of one, and those two are moved element by element.
"""

from __future__ import annotations

import math

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.graph.loops import Access, Load, Region
from kernelwright.propose.templates.cuda.nest import Sizes, Walk, moved_by


def along_rows(region: Region) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Kept and reduced dimensions of a flattened region, in order."""
    dims = range(len(region.dims))
    return tuple(d for d in dims if d not in region.reduced), tuple(d for d in dims if d in region.reduced)


def contiguous(region: Region, dims: tuple[int, ...]) -> bool:
    """Whether some full load has neighbours in memory along the innermost of `dims`."""
    return bool(dims) and any(
        isinstance(node, Load) and region.full[at] and node.access.strides[dims[-1]] == 1
        for at, node in enumerate(region.nodes)
    )


def sizes_of_rows(region: Region) -> Sizes:
    """Sizes with the row length, and all kept ones but the outermost, as literals."""
    return Sizes(region, lambda dim: dim in region.reduced or dim > 0)


def row_walk(sizes: Sizes, dims: tuple[int, ...], vector: int) -> Walk | None:
    """How vectors lie along a row, or None if they cannot."""
    plain = Walk(dims, vector)
    if vector == 1:
        return plain
    accesses = [access for access, _ in moved_by(sizes.region) if _varies(access, dims)]
    lines = [access for access in accesses if sizes.collapses(access, dims)]
    main = max(lines, key=lambda access: _streams(sizes.region, access, dims), default=None)
    whole = (sizes.product(dims) or 1) % vector == 0
    if whole and (main is None or sizes.shape_of(main, plain) == "flat"):
        return plain
    return None if main is None else Walk(dims, vector, main)


def row_vectors(region: Region, dims: tuple[int, ...]) -> list[int]:
    """Vector widths for a walk over `dims`, the best first: wide ones, but only where what differs from row
    to row need not be gathered."""
    sizes = sizes_of_rows(region)
    moved = [(access, dtype) for access, dtype in moved_by(region) if _varies(access, dims)]
    widest = max((ITEM_BYTES[dtype] for _, dtype in moved), default=4)
    allowed = [vector for vector in (16, 8, 4, 2, 1) if vector * widest <= 16 or vector == 1]
    walks = [row_walk(sizes, dims, vector) for vector in allowed]

    def gathers(walk: Walk) -> bool:
        return any(
            sizes.shape_of(access, walk) == "gather" for access, _ in moved if _streams(region, access, dims)
        )

    found = [walk for walk in walks if walk is not None]
    return [walk.vector for walk in sorted(found, key=lambda walk: (gathers(walk), -walk.vector))]


def count_vectors(sizes: Sizes, walk: Walk) -> int:
    """Vectors that a row touches at most; its length is a literal."""
    length = sizes.product(walk.dims)
    assert length is not None
    before = walk.vector - 1 if sizes.shift(walk, str) else 0
    return math.ceil((length + before) / walk.vector)


def _varies(access: Access, dims: tuple[int, ...]) -> bool:
    return any(access.strides[dim] != 0 for dim in dims)


def _streams(region: Region, access: Access, dims: tuple[int, ...]) -> bool:
    """Whether an access differs from row to row; where there is one row only, along all of it."""
    kept = [dim for dim in range(len(region.dims)) if dim not in dims]
    if not kept:
        return all(access.strides[dim] != 0 for dim in dims)
    return any(access.strides[dim] != 0 for dim in kept)


def step_lines(sizes: Sizes, walk: Walk, place: str) -> list[str]:
    """Statements for the step at vector `place`: the vector `v`, and the place `c` of its first element."""
    shift = " - shift" if sizes.shift(walk, str) else ""
    return [f"const {sizes.index} v = {place};", f"const {sizes.index} c = v * {walk.vector}{shift};"]


def shift_lines(sizes: Sizes, walk: Walk) -> list[str]:
    """The statement that sets `shift` from the indexes `i<dim>` of a row, where it is needed."""
    shift = sizes.shift(walk, lambda dim: f"i{dim}")
    return [f"const {sizes.index} shift = {shift};"] if shift else []


def all_inside(sizes: Sizes, walk: Walk, first: str, last: str) -> str:
    """Whether no step from vector `first` to vector `last` is past `end` or sticks out of the row."""
    text = f"{last} < end"
    if walk.shift is None:
        return text
    shifted = bool(sizes.shift(walk, str))
    before = f" && ({first}) * {walk.vector} >= shift" if shifted else ""
    behind = f"({last}) * {walk.vector} + {walk.vector}{' - shift' if shifted else ''}"
    return f"{text}{before} && {behind} <= {sizes.product(walk.dims)}"


def chosen_walk(sizes: Sizes, dims: tuple[int, ...], vector: int) -> Walk:
    """The walk of a chosen vector width; one element at a time where the width does not fit.

    Places may be negative where vectors stick out, so indexes are signed then.
    """
    walk = row_walk(sizes, dims, vector) or Walk(dims, 1)
    if walk.shift is not None and sizes.index == "unsigned":
        sizes.index = "int"
    return walk


def row_length(sizes: Sizes, walk: Walk) -> str:
    """The length of a row where vectors may stick out of it, else empty."""
    return "" if walk.shift is None else str(sizes.product(walk.dims))
