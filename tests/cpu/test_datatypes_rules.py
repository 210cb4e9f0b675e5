"""Rewriting datatypes: the same bytes in the same order, whatever rule is applied, up to canonical form."""

from __future__ import annotations

import pytest
from datatypes_trees import EXAMPLES, PAIR, TREES, blocks, entries
from hypothesis import given, settings

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes import expand, reference
from kernelwright.workloads.datatypes.canonical import canonicalize, rewrite
from kernelwright.workloads.datatypes.overlap import disjoint
from kernelwright.workloads.datatypes.rules import RULES
from kernelwright.workloads.datatypes.tree import (
    Block,
    Node,
    Repeat,
    Sequence,
    Shift,
    children,
    with_children,
)

PROVEN = settings(max_examples=400, deadline=None, derandomize=True)


def nodes(tree: Node) -> list[Node]:
    """The tree and all trees below, each with what is below it rewritten, as rules may assume."""
    below = [node for child in children(tree) for node in nodes(child)]
    return [*below, with_children(tree, tuple(map(rewrite, children(tree))))]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_does_what_its_example_shows(rule) -> None:
    before, after = EXAMPLES[rule]
    found = rule(before)
    assert found is not None and repr(found) == repr(after)
    assert reference.typemap(found) == reference.typemap(before)


@PROVEN
@given(TREES)
def test_every_rule_keeps_the_typemap(tree: Node) -> None:
    for node in nodes(tree):
        typemap = reference.typemap(node)
        for rule in RULES:
            simpler = rule(node)
            assert simpler is None or reference.typemap(simpler) == typemap, rule.__name__


@PROVEN
@given(TREES)
def test_canonical_form_keeps_the_typemap_and_is_a_fixpoint(tree: Node) -> None:
    form = canonicalize(tree)
    typemap = reference.typemap(tree)
    assert reference.typemap(form.node()) == typemap
    assert form.size == sum(size for _, size in typemap)
    if typemap:
        assert form.span() == (
            min(offset for offset, _ in typemap), max(offset + size for offset, size in typemap),
        )  # fmt: skip
    again = canonicalize(form.node())
    assert str(again) == str(form) and again.levels == form.levels
    assert all(count > 1 for count, _ in form.levels)


@PROVEN
@given(TREES)
def test_overlap_is_found(tree: Node) -> None:
    form = canonicalize(tree)
    for count, extent in ((1, 0), (3, 7), (2, 400)):
        seen = [
            byte + k * extent
            for k in range(count)
            for offset, size in reference.typemap(tree)
            for byte in range(offset, offset + size)
        ]
        assert disjoint(form, count, extent) == (len(set(seen)) == len(seen))


def test_a_level_is_never_exchanged_for_another() -> None:
    """A larger stride inside is another order of bytes, which walks memory badly, and which MPI packs."""
    form = canonicalize(Repeat(2, 4, Repeat(3, 100, Block(4))))
    assert form.levels == ((2, 4), (3, 100))


@pytest.mark.parametrize(
    "same",
    [
        (Repeat(4, 32, Block(8)), entries((0, 8), (32, 8), (64, 8), (96, 8), stride=1, child=Block(1)),
         Repeat(2, 64, Repeat(2, 32, Repeat(2, 4, Block(4)))), blocks(*((32 * k, 8) for k in range(4))),
         Sequence(tuple(Shift(32 * k, Repeat(8, 1, Block(1))) for k in range(4)))),
        (Repeat(3, 100, PAIR), Sequence(tuple(Shift(100 * k, PAIR) for k in range(3))),
         entries((0, 2), (100, 2), (200, 2), stride=10, child=Block(3))),
    ],
)  # fmt: skip
def test_types_that_say_the_same_have_one_form(same: tuple[Node, ...]) -> None:
    assert {str(canonicalize(tree)) for tree in same} == {str(canonicalize(same[0]))}
    assert len(canonicalize(same[0]).offsets) == 1


def test_forms_are_shown_readably() -> None:
    assert str(canonicalize(Shift(16, Repeat(10, 1024, Repeat(4, 32, Block(8)))))) == (
        "10 x every 1,024, 4 x every 32: 8 bytes at 16"
    )
    assert str(canonicalize(blocks((0, 4), (9, 1)))) == "4 bytes at 0, 1 bytes at 9"
    assert str(canonicalize(blocks(*((k * k * 9, 4) for k in range(7))))).endswith("3 more blocks")
    assert str(canonicalize(Block(0))) == "no bytes"


def test_a_list_too_long_is_refused_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "MOST_BLOCKS", 10)
    with pytest.raises(UsageError, match="12 separate blocks"):
        canonicalize(Sequence((Repeat(6, 9, Block(4)), Repeat(6, 7, Block(2)))))
    assert canonicalize(Repeat(1 << 56, 9, Block(4))).levels == ((1 << 56, 9),)
