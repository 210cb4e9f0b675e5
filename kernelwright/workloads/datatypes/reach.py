"""How far from its 0 a datatype reaches, and how many bytes it has, in numbers of any size.

Rules and kernels count in 64 bits. What `check` lets through cannot overflow there, neither in sums and
differences of two offsets nor in a product of counts: each of them is bounded by FARTHEST.
"""

from __future__ import annotations

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes.tree import (
    Block,
    Blocks,
    Indexed,
    Integers,
    Node,
    Repeat,
    Sequence,
    Shift,
)

FARTHEST = 1 << 61
"""Bytes from a type's 0, and bytes packed."""


def check(node: Node) -> None:
    """UsageError for a tree that reaches farther than FARTHEST, or has more bytes."""
    size, reach = measured(node)
    if size > FARTHEST or reach > FARTHEST:
        raise UsageError(
            f"the datatype has {size:,} bytes, up to {reach:,} from its 0, and at most {FARTHEST:,} are "
            "counted; build it from smaller counts, strides and displacements"
        )


def measured(node: Node) -> tuple[int, int]:
    """Bytes, and a distance from 0 beyond which none of them lies; (0, 0) where there are none."""
    match node:
        case Block(size):
            return size, size
        case Blocks(offsets, sizes):
            return _total(sizes), _farthest(offsets, sizes) + _largest(sizes)
        case Sequence(children):
            parts = [measured(child) for child in children]
            return sum(size for size, _ in parts), max((reach for _, reach in parts), default=0)
    size, reach = measured(node.child)
    if not size:
        return 0, 0
    match node:
        case Shift(offset):
            return size, abs(offset) + reach
        case Repeat(count, stride):
            return (count * size, (count - 1) * abs(stride) + reach) if count else (0, 0)
        case Indexed(offsets, counts, stride):
            times, most = _total(counts), _largest(counts)
            within = max(most - 1, 0) * abs(stride)
            return (times * size, _farthest(offsets, counts) + within + reach) if times else (0, 0)


def _total(values: Integers) -> int:
    """Their sum, in halves of 32 bits, which cannot overflow for less than 2**31 of them."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _largest(values: Integers) -> int:
    return int(values.max()) if len(values) else 0


def _farthest(offsets: Integers, counts: Integers) -> int:
    """The largest distance from 0 of entries that are not empty."""
    used = offsets[counts > 0]
    return max(abs(int(used.min())), abs(int(used.max()))) if len(used) else 0
