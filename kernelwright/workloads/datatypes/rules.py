"""The rewriting rules: each writes one node in a simpler way, or returns None where it does not apply.

A rule may assume that the nodes below have been rewritten. Every rule leaves the typemap as it is: the same
bytes in the same order. There is none that exchanges two levels, which would walk memory in a better way and
pack in another order than MPI does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelwright.workloads.datatypes.expand import expanded
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
    children,
)

Rule = Callable[[Node], "Node | None"]


def nothing(node: Node) -> Node | None:
    """A node without bytes is NOTHING, so that no other rule need think of empty parts."""
    if node is NOTHING:
        return None
    match node:
        case Block(size=0) | Repeat(count=0) | Sequence(children=()):
            return NOTHING
        case Blocks():
            return None if node.sizes.any() else NOTHING
        case Indexed() if not node.counts.any():
            return NOTHING
    below = children(node)
    return NOTHING if below and all(child is NOTHING for child in below) else None


def shift_by_nothing(node: Node) -> Node | None:
    """A shift by 0 is its child."""
    return node.child if isinstance(node, Shift) and node.offset == 0 else None


def shift_of_shift(node: Node) -> Node | None:
    """Two shifts are one by their sum."""
    match node:
        case Shift(offset, Shift(inner, child)):
            return Shift(offset + inner, child)
    return None


def shift_of_blocks(node: Node) -> Node | None:
    """A list takes a shift into its offsets."""
    match node:
        case Shift(offset, Blocks() as blocks):
            return Blocks(blocks.offsets + offset, blocks.sizes)
    return None


def repeat_of_shift(node: Node) -> Node | None:
    """All repetitions are shifted alike, so that the shift can stand outside, where shifts meet."""
    match node:
        case Repeat(count, stride, Shift(offset, child)):
            return Shift(offset, Repeat(count, stride, child))
    return None


def repeat_once(node: Node) -> Node | None:
    """What is repeated once is not repeated."""
    return node.child if isinstance(node, Repeat) and node.count == 1 else None


def repeat_without_gap(node: Node) -> Node | None:
    """Blocks that follow each other without a gap are one block."""
    match node:
        case Repeat(count, stride, Block(size)) if stride == size:
            return Block(count * size)
    return None


def repeat_of_repeat(node: Node) -> Node | None:
    """Where the outer level goes on at the inner one's pace, both are one level."""
    match node:
        case Repeat(count, stride, Repeat(inner, pace, child)) if stride == inner * pace:
            return Repeat(count * inner, pace, child)
    return None


def indexed_of_shift(node: Node) -> Node | None:
    """As `repeat_of_shift`."""
    match node:
        case Indexed(offsets, counts, stride, Shift(offset, child)):
            return Indexed(offsets + offset, counts, stride, child)
    return None


def indexed_evenly(node: Node) -> Node | None:
    """Equal counts at equal distances are two levels, however many entries say so."""
    if not isinstance(node, Indexed) or not _even(node.offsets) or not _equal(node.counts):
        return None
    inner = Repeat(int(node.counts[0]), node.stride, node.child)
    return Shift(int(node.offsets[0]), Repeat(len(node.offsets), _step(node.offsets), inner))


def indexed_of_block(node: Node) -> Node | None:
    """Children without a gap between them make one block for each entry."""
    match node:
        case Indexed(offsets, counts, stride, Block(size)) if stride == size or _all_one(counts):
            return Blocks(offsets, counts * size)
    return None


def indexed_in_full(node: Node) -> Node | None:
    """What has entries of different counts, and gaps, is written out as a list of blocks."""
    return expanded(node) if isinstance(node, Indexed) else None


def sequence_of_one(node: Node) -> Node | None:
    """A sequence of one, when empty parts are left out, is that one."""
    if not isinstance(node, Sequence):
        return None
    kept = tuple(child for child in node.children if child is not NOTHING)
    return kept[0] if len(kept) == 1 else None


def sequence_in_full(node: Node) -> Node | None:
    """Different parts are written out as one list of blocks."""
    return expanded(node) if isinstance(node, Sequence) else None


def blocks_joined(node: Node) -> Node | None:
    """A block that begins where the one before it ends is part of it; an empty one is none."""
    if not isinstance(node, Blocks):
        return None
    kept = node.sizes > 0
    offsets, sizes = node.offsets[kept], node.sizes[kept]
    first = np.ones(len(offsets), dtype=bool)
    first[1:] = offsets[1:] != offsets[:-1] + sizes[:-1]
    starts = np.flatnonzero(first)
    if len(starts) == len(node.offsets) or not len(starts):
        return None
    return Blocks(offsets[starts], np.add.reduceat(sizes, starts))


def blocks_evenly(node: Node) -> Node | None:
    """Blocks of one size at equal distances are one block, repeated."""
    if not isinstance(node, Blocks) or not _even(node.offsets) or not _equal(node.sizes):
        return None
    repeated = Repeat(len(node.offsets), _step(node.offsets), Block(int(node.sizes[0])))
    return Shift(int(node.offsets[0]), repeated)


def blocks_in_turns(node: Node) -> Node | None:
    """A list that is a shorter list several times, at equal distances, is the shorter list, repeated.

    Tried is the length of the first run of blocks of one size at equal distances, or of two blocks.
    """
    if not isinstance(node, Blocks):
        return None
    for length in dict.fromkeys((_first_run(node), 2)):
        rows, left_over = divmod(len(node.offsets), max(length, 1))
        if left_over or rows < 2 or length < 2:
            continue
        offsets, sizes = node.offsets.reshape(rows, length), node.sizes.reshape(rows, length)
        step = int(offsets[1, 0] - offsets[0, 0])
        if (np.diff(offsets, axis=0) == step).all() and (sizes == sizes[0]).all():
            return Repeat(rows, step, Blocks(offsets[0], sizes[0]))
    return None


RULES: tuple[Rule, ...] = (
    nothing, shift_by_nothing, shift_of_shift, shift_of_blocks, repeat_of_shift, repeat_once,
    repeat_without_gap, repeat_of_repeat, indexed_of_shift, indexed_evenly, indexed_of_block,
    indexed_in_full, sequence_of_one, sequence_in_full, blocks_joined, blocks_evenly, blocks_in_turns,
)  # fmt: skip
"""In the order in which they are tried: what writes a node out in full comes after what need not."""


def _even(offsets: Integers) -> bool:
    return len(offsets) > 0 and _equal(np.diff(offsets))


def _equal(values: Integers) -> bool:
    return len(values) == 0 or bool((values == values[0]).all())


def _all_one(counts: Integers) -> bool:
    return bool((counts == 1).all())


def _step(offsets: Integers) -> int:
    return int(offsets[1] - offsets[0]) if len(offsets) > 1 else 0


def _first_run(blocks: Blocks) -> int:
    """How many blocks from the first are of one size at equal distances."""
    if len(blocks.offsets) < 3:
        return len(blocks.offsets)
    steps = np.diff(blocks.offsets)
    broken = (steps != steps[0]) | (blocks.sizes[1:] != blocks.sizes[0])
    return int(np.argmax(broken)) + 1 if broken.any() else len(blocks.offsets)
