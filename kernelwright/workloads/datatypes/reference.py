"""What a tree means, in plain Python: its typemap, and packing by it a block at a time. Slow; the truth.

Knows neither rules nor kernels. `origin` is where in `memory` the type's 0 lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernelwright.workloads.datatypes.tree import Block, Blocks, Indexed, Node, Repeat, Sequence, Shift


def typemap(node: Node) -> list[tuple[int, int]]:
    """Blocks (offset, bytes) in the order in which they are packed, those that touch joined, none empty."""
    return joined(_blocks(node, 0))


def joined(blocks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in the same order: a block that begins where the one before it ends is part of it."""
    found: list[tuple[int, int]] = []
    for offset, size in blocks:
        if found and sum(found[-1]) == offset:
            found[-1] = (found[-1][0], found[-1][1] + size)
        elif size:
            found.append((offset, size))
    return found


def pack(node: Node, memory: bytes, origin: int = 0, count: int = 1, extent: int = 0) -> bytes:
    """The packed bytes of `count` elements that lie `extent` apart."""
    starts = [origin + extent * k + offset for k in range(count) for offset, _ in typemap(node)]
    sizes = [size for _ in range(count) for _, size in typemap(node)]
    return b"".join(memory[start : start + size] for start, size in zip(starts, sizes, strict=True))


def unpack(
    node: Node, packed: bytes, memory: bytearray, origin: int = 0, count: int = 1, extent: int = 0
) -> None:
    """Put the bytes of `count` elements where they belong; `memory` keeps all others."""
    done = 0
    for k in range(count):
        for offset, size in typemap(node):
            start = origin + extent * k + offset
            memory[start : start + size] = packed[done : done + size]
            done += size


def _blocks(node: Node, at: int) -> Iterator[tuple[int, int]]:
    match node:
        case Block():
            yield at, node.size
        case Blocks():
            for offset, size in zip(node.offsets.tolist(), node.sizes.tolist(), strict=True):
                yield at + offset, size
        case Shift():
            yield from _blocks(node.child, at + node.offset)
        case Repeat():
            for k in range(node.count):
                yield from _blocks(node.child, at + k * node.stride)
        case Indexed():
            for offset, count in zip(node.offsets.tolist(), node.counts.tolist(), strict=True):
                for k in range(count):
                    yield from _blocks(node.child, at + offset + k * node.stride)
        case Sequence():
            for child in node.children:
                yield from _blocks(child, at)
