"""Spaces: every way to make a choice gives each parameter one of its values."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.propose.space import Choice, Parameter, Space

VALUES = st.one_of(
    st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True),
    st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4, unique=True),
)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    lists = draw(st.lists(VALUES, min_size=1, max_size=5))
    return Space(tuple(Parameter(f"p{at}", tuple(v), draw(st.sampled_from(v))) for at, v in enumerate(lists)))


def within(space: Space, choice: Choice) -> bool:
    return list(choice) == [p.name for p in space.parameters] and all(
        choice[p.name] in p.values for p in space.parameters
    )


@given(spaces(), st.integers(0, 999))
def test_every_choice_is_within(space: Space, seed: int) -> None:
    rng = Random(seed)
    a, b = space.random(rng), space.default()
    child = space.crossover(a, b, rng)
    assert all(within(space, choice) for choice in (a, b, child, *space.neighbors(a)))
    assert all(child[name] in (a[name], b[name]) for name in child)


@given(spaces(), st.integers(0, 999))
def test_neighbors_differ_in_one_value_and_see_each_other(space: Space, seed: int) -> None:
    choice = space.random(Random(seed))
    near = space.neighbors(choice)
    assert len(set(near)) == len(near)
    for other in near:
        assert sum(choice[name] != other[name] for name in choice) == 1
        assert choice in space.neighbors(other)


@given(spaces())
def test_all_choices_can_be_reached_from_the_default(space: Space) -> None:
    reached = {space.default()}
    waiting = [space.default()]
    while waiting:
        fresh = [choice for choice in space.neighbors(waiting.pop()) if choice not in reached]
        reached.update(fresh)
        waiting += fresh
    assert len(reached) == space.size


def test_numbers_step_to_adjacent_values_and_names_to_all() -> None:
    space = Space.of(tile=(1, 2, 4, 8), order=("rows", "columns", "tiles"))
    near = space.neighbors(Choice({"tile": 2, "order": "rows"}))
    assert {choice["tile"] for choice in near} == {1, 2, 4}
    assert {choice["order"] for choice in near} == {"rows", "columns", "tiles"}


def test_prefixes_come_off_again() -> None:
    space = Space.of(tile=(1, 2)).prefixed("r0.") + Space.of(tile=(3, 4)).prefixed("r1.")
    assert dict(space.default().under("r1.")) == {"tile": 3}
    assert space.size == 4


def test_wrong_values_name_what_is_allowed() -> None:
    space = Space.of(tile=(1, 2))
    with pytest.raises(UsageError, match="did you mean 'tile'"):
        space.complete({"tyle": 1})
    with pytest.raises(UsageError, match="allowed: 1, 2"):
        space.complete({"tile": 3})
