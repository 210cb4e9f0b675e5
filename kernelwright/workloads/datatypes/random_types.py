"""Committed datatypes at random: every constructor, nested, with gaps, negative strides and empty parts.

Small on purpose (at most MOST_BYTES over MOST_REACH): what differs between types is their structure. What an
MPI refuses to build is left out. Not covered, because an MPI packs it in a way of its own, as the design page
(`docs/design/datatypes.md`) says:

- long double, and complex numbers;
- structs with members of no bytes;
- a stride of -1 byte.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from mpi4py import MPI

MOST_BYTES, MOST_REACH, DEEPEST = 1 << 13, 1 << 16, 4
Type = Any
"""An `mpi4py.MPI.Datatype`."""
NAMED = tuple(
    kind
    for kind in (
        MPI.BYTE, MPI.CHAR, MPI.SHORT, MPI.INT, MPI.FLOAT, MPI.LONG, MPI.DOUBLE, MPI.LONG_LONG,
        MPI.C_BOOL, MPI.WCHAR, MPI.TWOINT, MPI.FLOAT_INT, MPI.DOUBLE_INT, MPI.LONG_INT, MPI.SHORT_INT,
    )
    if kind != MPI.DATATYPE_NULL
)  # fmt: skip


def random_type(random: Random) -> Type:
    """One type, committed; the caller frees it."""
    made = _grown(random, random.randint(1, DEEPEST))
    return made.Commit()


def _grown(random: Random, depth: int) -> Type:
    """A type of up to `depth` constructors upon a named one; never a named one itself."""
    old = random.choice(NAMED) if depth <= 1 else _grown(random, depth - 1)
    try:
        made = random.choice(CONSTRUCTORS)(random, old)
    except MPI.Exception:
        made = old.Dup()
    _, reach = made.Get_true_extent()
    lb, extent = made.Get_extent()
    if made.Get_size() > MOST_BYTES or max(reach, abs(extent), abs(lb)) > MOST_REACH:
        made.Free()
        made = old.Dup()
    old.free()
    return made


def _count(random: Random) -> int:
    return random.choice((0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 7))


def _length(random: Random) -> int:
    """Of a block, in elements."""
    return random.choice((0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4))


def _lengths(random: Random, count: int) -> list[int]:
    return [_length(random) for _ in range(count)]


def _list(random: Random, low: int, high: int, length: int) -> list[int]:
    return [random.randint(low, high) for _ in range(length)]


def _contiguous(random: Random, old: Type) -> Type:
    return old.Create_contiguous(_count(random))


def _vector(random: Random, old: Type) -> Type:
    stride = random.randint(-6, 9)
    bytes_apart = stride * old.Get_extent()[1]
    return old.Create_vector(_count(random), _length(random), 2 if bytes_apart == -1 else stride)


def _hvector(random: Random, old: Type) -> Type:
    stride = random.randint(-64, 200)
    return old.Create_hvector(_count(random), _length(random), 2 if stride == -1 else stride)


def _indexed(random: Random, old: Type) -> Type:
    length = _count(random)
    return old.Create_indexed(_lengths(random, length), _list(random, -8, 20, length))


def _hindexed(random: Random, old: Type) -> Type:
    length = _count(random)
    return old.Create_hindexed(_lengths(random, length), _list(random, -64, 300, length))


def _indexed_block(random: Random, old: Type) -> Type:
    return old.Create_indexed_block(_length(random), _steps(random, 9))


def _hindexed_block(random: Random, old: Type) -> Type:
    return old.Create_hindexed_block(_length(random), _steps(random, 100))


def _steps(random: Random, most: int) -> list[int]:
    """Displacements without a pattern, or at equal distances."""
    length = _count(random)
    if random.random() < 0.5:
        return _list(random, -most, 2 * most, length)
    first, step = random.randint(-most, most), random.randint(-most, most)
    return [first + k * step for k in range(length)]


def _struct(random: Random, old: Type) -> Type:
    others = [_grown(random, random.randint(1, 2)) for _ in range(random.randint(0, 2))]
    members = [old, *others, *random.choices(NAMED, k=random.randint(0, 2))]
    members = [member if member.Get_size() else MPI.BYTE for member in members]
    random.shuffle(members)
    made = MPI.Datatype.Create_struct(
        _lengths(random, len(members)), _list(random, -64, 400, len(members)), members
    )
    for other in others:
        other.Free()
    return made


def _subarray(random: Random, old: Type) -> Type:
    sizes = _list(random, 1, 6, random.randint(1, 3))
    taken = [random.randint(1, size) for size in sizes]
    starts = [random.randint(0, size - part) for size, part in zip(sizes, taken, strict=True)]
    return old.Create_subarray(sizes, taken, starts, order=_order(random))


def _darray(random: Random, old: Type) -> Type:
    sizes = _list(random, 1, 7, random.randint(1, 3))
    grid, distributions, arguments = [], [], []
    for size in sizes:
        processes = random.randint(1, 3)
        distribution = random.choice((MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC, MPI.DISTRIBUTE_NONE))
        least = -(-size // processes) if distribution == MPI.DISTRIBUTE_BLOCK else 1
        chosen = MPI.DISTRIBUTE_DFLT_DARG if random.random() < 0.5 else random.randint(least, least + 2)
        plain = distribution == MPI.DISTRIBUTE_NONE
        grid.append(1 if plain else processes)
        arguments.append(MPI.DISTRIBUTE_DFLT_DARG if plain else chosen)
        distributions.append(distribution)
    total = 1
    for processes in grid:
        total *= processes
    rank = random.randrange(total)
    return old.Create_darray(total, rank, sizes, distributions, arguments, grid, order=_order(random))


def _order(random: Random) -> int:
    order: int = random.choice((MPI.ORDER_C, MPI.ORDER_FORTRAN))
    return order


def _resized(random: Random, old: Type) -> Type:
    return old.Create_resized(random.randint(-16, 16), random.randint(0, 80))


def _dup(random: Random, old: Type) -> Type:
    return old.Dup()


CONSTRUCTORS: tuple[Callable[[Random, Type], Type], ...] = (
    _contiguous, _vector, _hvector, _indexed, _hindexed, _indexed_block, _hindexed_block, _struct, _subarray,
    _darray, _resized, _dup,
)  # fmt: skip
