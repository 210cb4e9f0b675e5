"""The canonical form of a datatype: levels around one block or around a list of blocks.

    for each point of the levels, the last fastest:
        for each block: sizes[i] bytes from offsets[i] + sum(index * stride)

A form with one block is a *strided block*; others are *block lists*. Two types of equal form pack the same
bytes in the same order; the reverse holds for regular patterns, and is not promised for lists.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.core.errors import InternalFault
from kernelwright.workloads.datatypes.reach import check
from kernelwright.workloads.datatypes.rules import RULES, nothing
from kernelwright.workloads.datatypes.tree import (
    Block,
    Blocks,
    Integers,
    Node,
    Repeat,
    Shift,
    children,
    integers,
    with_children,
)

SHOWN = 4
"""Blocks of a list that `str` shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """Where the bytes of one element lie, in packing order."""

    levels: tuple[tuple[int, int], ...]
    """(count, stride in bytes), outermost first; no count is 1."""
    offsets: Integers
    """Of each block, in bytes from the element's 0."""
    sizes: Integers
    """Of each block, in bytes."""

    @property
    def size(self) -> int:
        """Packed bytes of one element."""
        size: int = sum(self.sizes.tolist())
        for count, _ in self.levels:
            size *= count
        return size

    def span(self) -> tuple[int, int]:
        """First byte, and the one after the last; (0, 0) where there is none."""
        if not len(self.offsets):
            return 0, 0
        steps = [(count - 1) * stride for count, stride in self.levels]
        low = int(self.offsets.min()) + sum(step for step in steps if step < 0)
        return low, int((self.offsets + self.sizes).max()) + sum(step for step in steps if step > 0)

    def node(self) -> Node:
        """The same as a tree."""
        node: Node = Blocks(self.offsets, self.sizes)
        for count, stride in reversed(self.levels):
            node = Repeat(count, stride, node)
        return node

    def __str__(self) -> str:
        """Such as `10 x every 1024, 4 x every 32: 8 bytes at 16`."""
        levels = ", ".join(f"{count:,} x every {stride:,}" for count, stride in self.levels)
        shown = [
            f"{size:,} bytes at {offset:,}"
            for offset, size in zip(self.offsets[:SHOWN].tolist(), self.sizes[:SHOWN].tolist(), strict=True)
        ]
        more = [f"{len(self.offsets) - SHOWN:,} more blocks"] if len(self.offsets) > SHOWN else []
        return f"{levels}{': ' if levels else ''}{', '.join(shown + more) or 'no bytes'}"


def canonicalize(node: Node) -> Canonical:
    """The canonical form of a tree.

    UsageError for irregular types of too many blocks (`expand`), and for numbers beyond `reach.FARTHEST`.
    """
    check(node)
    node, offset = rewrite(node), 0
    if isinstance(node, Shift):
        offset, node = node.offset, node.child
    levels = []
    while isinstance(node, Repeat):
        levels.append((node.count, node.stride))
        node = node.child
    match node:
        case Block():
            return Canonical(tuple(levels), integers([offset]), integers([node.size]))
        case Blocks():
            return Canonical(tuple(levels), node.offsets + offset, node.sizes)
    raise InternalFault(f"rewriting left a {type(node).__name__} below the levels")


def rewrite(node: Node) -> Node:
    """The tree in which no rule applies any more, from the leaves to the root.

    What has no bytes goes first: `check` lets any numbers stand below it.
    """
    node = nothing(node) or node
    node = with_children(node, tuple(map(rewrite, children(node))))
    for rule in RULES:
        simpler = rule(node)
        if simpler is not None:
            return rewrite(simpler)
    return node
