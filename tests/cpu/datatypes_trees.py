"""Trees of datatypes for tests, drawn by hypothesis, and what rules make of examples."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from kernelwright.workloads.datatypes import rules
from kernelwright.workloads.datatypes.tree import (
    NOTHING,
    Block,
    Blocks,
    Indexed,
    Node,
    Repeat,
    Sequence,
    Shift,
    integers,
)

OFFSETS, COUNTS, SIZES = st.integers(-60, 60), st.integers(0, 4), st.integers(0, 20)
STRIDES = st.one_of(st.integers(-40, 60), st.sampled_from([4, 8, 16]))


def pairs(first: st.SearchStrategy[int], second: st.SearchStrategy[int]) -> st.SearchStrategy[list]:
    return st.lists(st.tuples(first, second), max_size=5)


def of_pairs(drawn: list, make: Callable[[object, object], Node]) -> Node:
    return make(integers([one for one, _ in drawn]), integers([other for _, other in drawn]))


def indexed(drawn: list, stride: int, child: Node) -> Node:
    return of_pairs(drawn, lambda offsets, counts: Indexed(offsets, counts, stride, child))


def above(below: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    even = st.builds(
        lambda first, step, count, many: [(first + k * step, count) for k in range(many)],
        OFFSETS, STRIDES, COUNTS, st.integers(0, 5),
    )  # fmt: skip
    return st.one_of(
        st.builds(Shift, OFFSETS, below),
        st.builds(Repeat, COUNTS, STRIDES, below),
        st.builds(indexed, st.one_of(pairs(OFFSETS, COUNTS), even), STRIDES, below),
        st.lists(below, max_size=3).map(lambda nodes: Sequence(tuple(nodes))),
    )


LEAVES = st.one_of(st.builds(Block, SIZES), pairs(OFFSETS, SIZES).map(lambda drawn: of_pairs(drawn, Blocks)))
TREES: st.SearchStrategy[Node] = st.recursive(LEAVES, above, max_leaves=4)


def blocks(*given: tuple[int, int]) -> Node:
    return of_pairs(list(given), Blocks)


def entries(*given: tuple[int, int], stride: int, child: Node) -> Node:
    return indexed(list(given), stride, child)


PAIR = Repeat(2, 10, Block(3))
"""Two blocks with a gap, which no rule simplifies."""
EXAMPLES: dict[Callable[[Node], Node | None], tuple[Node, Node]] = {
    rules.nothing: (Repeat(0, 8, Block(4)), NOTHING),
    rules.shift_by_nothing: (Shift(0, PAIR), PAIR),
    rules.shift_of_shift: (Shift(3, Shift(4, PAIR)), Shift(7, PAIR)),
    rules.shift_of_blocks: (Shift(3, blocks((0, 1), (9, 2))), blocks((3, 1), (12, 2))),
    rules.repeat_of_shift: (Repeat(2, 50, Shift(3, PAIR)), Shift(3, Repeat(2, 50, PAIR))),
    rules.repeat_once: (Repeat(1, 50, PAIR), PAIR),
    rules.repeat_without_gap: (Repeat(5, 3, Block(3)), Block(15)),
    rules.repeat_of_repeat: (Repeat(3, 20, PAIR), Repeat(6, 10, Block(3))),
    rules.indexed_of_shift: (
        entries((0, 1), (40, 2), stride=9, child=Shift(2, PAIR)),
        entries((2, 1), (42, 2), stride=9, child=PAIR),
    ),
    rules.indexed_evenly: (
        entries((4, 2), (104, 2), (204, 2), stride=30, child=PAIR),
        Shift(4, Repeat(3, 100, Repeat(2, 30, PAIR))),
    ),
    rules.indexed_of_block: (
        entries((0, 1), (40, 3), stride=4, child=Block(4)), blocks((0, 4), (40, 12)),
    ),
    rules.indexed_in_full: (
        entries((0, 1), (40, 2), stride=8, child=Block(4)), blocks((0, 4), (40, 4), (48, 4)),
    ),
    rules.sequence_of_one: (Sequence((NOTHING, PAIR, NOTHING)), PAIR),
    rules.sequence_in_full: (Sequence((Block(4), PAIR)), blocks((0, 4), (0, 3), (10, 3))),
    rules.blocks_joined: (blocks((0, 4), (4, 2), (9, 0), (20, 1)), blocks((0, 6), (20, 1))),
    rules.blocks_evenly: (blocks((5, 2), (15, 2), (25, 2)), Shift(5, Repeat(3, 10, Block(2)))),
    rules.blocks_in_turns: (
        blocks((0, 2), (10, 3), (100, 2), (110, 3)), Repeat(2, 100, blocks((0, 2), (10, 3))),
    ),
}  # fmt: skip
"""For each rule: a node, and what it is rewritten to."""
