"""Datatypes whose numbers do not fit 64 bits, or nearly: packed right, or refused in a line, never wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np
import pytest
from datatypes_trees import TREES, blocks, entries
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes import Packer, reference
from kernelwright.workloads.datatypes.canonical import canonicalize
from kernelwright.workloads.datatypes.decode import CONSTRUCTORS
from kernelwright.workloads.datatypes.reach import FARTHEST, measured
from kernelwright.workloads.datatypes.table import table_of
from kernelwright.workloads.datatypes.tree import (
    Block,
    Blocks,
    Indexed,
    Node,
    Repeat,
    Sequence,
    Shift,
    children,
    with_children,
)

MOST = 2**31 - 1
FACTORS = st.lists(st.sampled_from([1, 1, 2**30, 2**54, 2**56, 2**57]), min_size=1, max_size=6)
"""With the numbers of TREES they stay below 2**63, as MPI's do; their sums do not."""


def scaled(node: Node, factors: Iterator[int]) -> Node:
    """The tree with the distances and sizes of each node times a factor of its own."""
    factor = next(factors)
    node = with_children(node, tuple(scaled(child, factors) for child in children(node)))
    match node:
        case Block(size):
            return Block(size * factor)
        case Blocks(offsets, sizes):
            return Blocks(offsets * factor, sizes * factor)
        case Shift(offset, child):
            return Shift(offset * factor, child)
        case Repeat(count, stride, child):
            return Repeat(count, stride * factor, child)
        case Indexed(offsets, counts, stride, child):
            return Indexed(offsets * factor, counts, stride * factor, child)
    return node


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(TREES, FACTORS)
def test_any_tree_keeps_its_typemap_or_is_refused(tree: Node, factors: list[int]) -> None:
    tree = scaled(tree, cycle(factors))
    typemap = reference.typemap(tree)
    size = sum(size for _, size in typemap)
    farthest = max((max(abs(offset), abs(offset + size)) for offset, size in typemap), default=0)
    counted, reach = measured(tree)
    assert counted == size and reach >= farthest
    if max(counted, reach) > FARTHEST:
        with pytest.raises(UsageError, match=r"up to .* from its 0, and at most 2,305,843,009,213,693,952"):
            canonicalize(tree)
        return
    form = canonicalize(tree)
    assert reference.typemap(form.node()) == typemap and form.size == size
    assert len(table_of(form, 2**63 - 1)) > 4


@pytest.mark.parametrize("tree", [
    Repeat(MOST, MOST * 8, Repeat(MOST, 8, Block(8))), Repeat(2**40, 0, Repeat(2**40, 0, Block(1))),
    Repeat(2, 2**62, Block(1)), entries((-(2**62), 1), (2**62, 1), stride=1, child=Block(1)),
    entries((0, 2), (1, 2**40), stride=2**40, child=Block(1)),
    entries((-(2**63), 1), stride=1, child=Block(1)),
    blocks((2**63 - 1, 1)), blocks((-(2**62), 1), (2**62, 1)), blocks((0, 2**62), (0, 2**62), (0, 2**62)),
    Shift(2**70, Block(1)), Sequence((Block(1), Shift(-(2**62), Block(1)))),
])  # fmt: skip
def test_what_is_too_far_or_too_much_is_refused(tree: Node) -> None:
    with pytest.raises(UsageError, match="build it from smaller counts") as caught:
        canonicalize(tree)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tree", [
    Repeat(2**40, 2**62, Block(0)), Shift(2**70, Repeat(0, 1, Block(8))), blocks((2**63 - 1, 0)),
    Repeat(0, 0, entries((-(2**63), 1), (2**62, 2), stride=2**62, child=Block(2**62))),
    entries((2**63 - 1, 0), (-(2**63), 0), stride=2**62, child=Block(1)),
])  # fmt: skip
def test_where_no_bytes_are_does_not_matter(tree: Node) -> None:
    assert str(canonicalize(tree)) == "no bytes"
    assert str(canonicalize(Sequence((Block(4), tree)))) == "4 bytes at 0"


@pytest.mark.parametrize("build, given_", [
    ("INDEXED", {"displacements": [0, 2**31], "blocklengths": [1, 1]}),
    ("INDEXED_BLOCK", {"displacements": [0, 2**31], "blocklength": 1}),
    ("HINDEXED", {"displacements": [2**63], "blocklengths": [1]}),
    ("VECTOR", {"count": 2, "blocklength": 1, "stride": 2**31}),
    ("CONTIGUOUS", {"count": 2**31}),
])  # fmt: skip
def test_products_of_constructors_do_not_wrap(build: str, given_: dict) -> None:
    with pytest.raises(UsageError, match="build it from smaller"):
        canonicalize(CONSTRUCTORS[build](given_, Block(1), 2**40))


@pytest.mark.parametrize("call", [Packer.pack, Packer.bind])
@pytest.mark.parametrize("count", [2**55, 2**62])
def test_more_packed_bytes_than_memory_holds(call: Callable, count: int) -> None:
    for size in (1, 3, 64):
        packer = Packer(canonicalize(Block(size)), (0, 0), (0, size))
        with pytest.raises(UsageError, match="which memory does not hold; give a smaller count"):
            call(packer, np.zeros(size, np.uint8), count)
