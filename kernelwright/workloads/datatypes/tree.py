"""A datatype as a tree, without MPI: what its constructors say, in six kinds of node.

    Block(size)                                `size` bytes from 0
    Blocks(offsets, sizes)                     a list of blocks
    Shift(offset, child)                       the child, `offset` bytes further on
    Repeat(count, stride, child)               the child at 0, stride, 2 stride, ...
    Indexed(offsets, counts, stride, child)    at each offset, `count` children that lie `stride` apart
    Sequence(children)                         one child after the other

All numbers are bytes, but counts. A node says where its bytes lie and in which order they are packed: from
left to right, from the first repetition to the last. Extents are no part of it: where they matter
they have become strides. Strides and offsets may be negative, and blocks may overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kernelwright.core.errors import UsageError

Integers = npt.NDArray[np.int64]
"""Of one dimension."""


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes without a gap, from 0."""

    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Block i has `sizes[i]` bytes from `offsets[i]`."""

    offsets: Integers
    sizes: Integers


@dataclass(frozen=True, slots=True)
class Shift:
    """The child, moved by `offset`."""

    offset: int
    child: Node


@dataclass(frozen=True, slots=True)
class Repeat:
    """The child `count` times, `stride` apart."""

    count: int
    stride: int
    child: Node


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """`counts[i]` children from `offsets[i]`, `stride` apart."""

    offsets: Integers
    counts: Integers
    stride: int
    child: Node


@dataclass(frozen=True, slots=True)
class Sequence:
    """All children from the same 0, one after the other."""

    children: tuple[Node, ...]


Node: TypeAlias = "Block | Blocks | Shift | Repeat | Indexed | Sequence"


def integers(values: object) -> Integers:
    """Numbers as the arrays of a node; UsageError where one takes more than 64 bits."""
    try:
        return np.asarray(values, dtype=np.int64).reshape(-1)
    except OverflowError as error:
        raise UsageError(
            "the datatype has a displacement that takes more than 64 bits; build it from smaller "
            "displacements and extents"
        ) from error


NOTHING = Blocks(integers([]), integers([]))
"""No bytes."""


def children(node: Node) -> tuple[Node, ...]:
    """Nodes right below."""
    match node:
        case Sequence():
            return node.children
        case Shift() | Repeat() | Indexed():
            return (node.child,)
    return ()


def with_children(node: Node, new: tuple[Node, ...]) -> Node:
    """The node with other nodes below."""
    match node:
        case Sequence():
            return Sequence(new)
        case Shift():
            return Shift(node.offset, new[0])
        case Repeat():
            return Repeat(node.count, node.stride, new[0])
        case Indexed():
            return Indexed(node.offsets, node.counts, node.stride, new[0])
    return node
