"""A tree written out: the list of its blocks in packing order.

This is what canonical form is for types that are no regular pattern, and how parts of a tree become lists.
Not covered: more than MOST_BLOCKS blocks, whose list would be longer than the memory that it describes.
"""

from __future__ import annotations

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes.tree import (
    NOTHING,
    Block,
    Blocks,
    Indexed,
    Integers,
    Node,
    Repeat,
    Sequence,
    Shift,
    integers,
)

MOST_BLOCKS = 1 << 24
"""16 bytes each: 256 MiB."""


def expanded(node: Node) -> Blocks:
    """All blocks of `node`, none joined. UsageError where there are more than MOST_BLOCKS."""
    count = blocks_in(node)
    if count > MOST_BLOCKS:
        raise UsageError(
            f"the datatype has {count:,} separate blocks without a pattern, and at most {MOST_BLOCKS:,} can "
            "be listed; build it from vectors or subarrays, or send it in parts"
        )
    return _written_out(node)


def blocks_in(node: Node) -> int:
    """How many blocks `expanded` would list."""
    match node:
        case Block():
            return 1
        case Blocks():
            return len(node.offsets)
        case Shift():
            return blocks_in(node.child)
        case Repeat():
            return node.count * blocks_in(node.child)
        case Indexed():
            return int(sum(node.counts.tolist())) * blocks_in(node.child)
        case Sequence():
            return sum(map(blocks_in, node.children))


def _written_out(node: Node) -> Blocks:
    match node:
        case Block():
            return Blocks(integers([0]), integers([node.size]))
        case Blocks():
            return node
        case Shift():
            child = _written_out(node.child)
            return Blocks(child.offsets + node.offset, child.sizes)
        case Repeat():
            starts = np.arange(node.count, dtype=np.int64) * node.stride
            return _at_each(starts, _written_out(node.child))
        case Indexed():
            return _at_each(_starts(node), _written_out(node.child))
        case Sequence():
            lists = [NOTHING, *map(_written_out, node.children)]
            return Blocks(
                np.concatenate([each.offsets for each in lists]),
                np.concatenate([each.sizes for each in lists]),
            )


def _starts(node: Indexed) -> Integers:
    """Where each child of each entry begins."""
    before = np.cumsum(node.counts) - node.counts
    within = np.arange(int(node.counts.sum()), dtype=np.int64) - np.repeat(before, node.counts)
    return np.asarray(np.repeat(node.offsets, node.counts) + within * node.stride)


def _at_each(starts: Integers, child: Blocks) -> Blocks:
    offsets = (starts[:, None] + child.offsets[None, :]).reshape(-1)
    return Blocks(offsets, np.tile(child.sizes, len(starts)))
