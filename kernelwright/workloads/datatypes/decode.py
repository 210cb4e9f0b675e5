"""A committed datatype of an MPI library becomes a tree.

MPI tells how a type was built (its envelope and contents), and the types it was built from, down to the
named ones. Bounds and extents of all of them are MPI's own answers. Handles that MPI gave out on the way
are freed. A named type is bytes: within one machine packing converts nothing.

Not covered: constructors that a later MPI may add; they are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes.arrays import darray, subarray
from kernelwright.workloads.datatypes.tree import (
    Block,
    Blocks,
    Indexed,
    Node,
    Repeat,
    Sequence,
    Shift,
    integers,
)

DEEPEST = 200
"""Types within types up to which one is decoded."""
Build = Callable[[Mapping[str, Any], Node, int], Node]
"""From the parameters of a constructor, the tree of the old type and its extent."""


def decode(mpi_type: Any, depth: int = 0) -> Node:
    """The tree of an `mpi4py.MPI.Datatype`, which must be committed or named.

    UsageError for constructors that are not known, and for types nested deeper than DEEPEST.
    """
    if depth > DEEPEST:
        raise UsageError(f"the datatype is nested more than {DEEPEST} deep; build it with fewer steps")
    old, combiner, given = mpi_type.decode()
    if combiner == "NAMED" or combiner.startswith("F90_"):
        return named(mpi_type)
    if combiner == "VALUE_INDEX":
        return _freed(list(given.values()), lambda: named(mpi_type))
    if combiner == "STRUCT":
        return _freed(given["datatypes"], lambda: _struct(given, depth))
    build = CONSTRUCTORS.get(combiner)
    if build is None:
        raise UsageError(
            f"the datatype was built by the constructor {combiner}, which is not known; known: "
            f"{', '.join(name.lower() for name in (*CONSTRUCTORS, 'STRUCT'))}"
        )
    return _freed([old], lambda: build(given, decode(old, depth + 1), _extent(old)))


def named(mpi_type: Any) -> Node:
    """A named type: `size` bytes, or a value and an index at the end (MPI_SHORT_INT has a gap between)."""
    size = mpi_type.Get_size()
    _, true_extent = mpi_type.Get_true_extent()
    if true_extent in (size, 0):
        return Block(size)
    index = 4
    return Blocks(integers([0, true_extent - index]), integers([size - index, index]))


def _extent(mpi_type: Any) -> int:
    extent: int = mpi_type.Get_extent()[1]
    return extent


def _freed(handles: list[Any], work: Callable[[], Node]) -> Node:
    """What `work` returns; the handles, which MPI made for us, are freed whatever it does."""
    try:
        return work()
    finally:
        for handle in handles:
            handle.free()


def _struct(given: Mapping[str, Any], depth: int) -> Node:
    """Each member: so many of its type, at its displacement."""
    members = zip(given["displacements"], given["blocklengths"], given["datatypes"], strict=True)
    return Sequence(tuple(
        Shift(displacement, Repeat(count, _extent(member), decode(member, depth + 1)))
        for displacement, count, member in members
    ))  # fmt: skip


def _same(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    return old


def _contiguous(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    return Repeat(given["count"], extent, old)


def _vector(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    return Repeat(given["count"], given["stride"] * extent, Repeat(given["blocklength"], extent, old))


def _hvector(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    return Repeat(given["count"], given["stride"], Repeat(given["blocklength"], extent, old))


def _indexed(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    offsets = integers([displacement * extent for displacement in given["displacements"]])
    return Indexed(offsets, integers(given["blocklengths"]), extent, old)


def _hindexed(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    return Indexed(integers(given["displacements"]), integers(given["blocklengths"]), extent, old)


def _with_lengths(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of an indexed type from those of one whose blocks have one length."""
    return {**given, "blocklengths": [given["blocklength"]] * len(given["displacements"])}


CONSTRUCTORS: dict[str, Build] = {
    "DUP": _same,
    "RESIZED": _same,
    "CONTIGUOUS": _contiguous,
    "VECTOR": _vector,
    "HVECTOR": _hvector,
    "INDEXED": _indexed,
    "HINDEXED": _hindexed,
    "INDEXED_BLOCK": lambda given, old, extent: _indexed(_with_lengths(given), old, extent),
    "HINDEXED_BLOCK": lambda given, old, extent: _hindexed(_with_lengths(given), old, extent),
    "SUBARRAY": subarray,
    "DARRAY": darray,
}
"""By mpi4py's names of combiners; struct, which has several old types, is apart."""
