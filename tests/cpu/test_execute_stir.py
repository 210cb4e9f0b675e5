"""Contents that no call has met: undone exactly, of the same values and addresses, and made alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernelwright.execute import ops
from kernelwright.execute.state import bench_state
from kernelwright.execute.stir import CHANGED, addresses, draw_anew, settle, stir, touch
from kernelwright.problems import load_problem


def opened(function: Any, inputs: tuple[Tensor, ...]) -> dict[str, Any]:
    problem, state = load_problem(function, inputs), dict[str, Any]()
    noun = {"problem": problem.model_dump(mode="json"), "workload": problem.base.model_dump(mode="json")}
    ops.open_problem(state, device="cpu", weights_seed=0, threads=torch.get_num_threads(), **noun)
    ops.draw(state, slot="a", seed=1, draw="file")
    return state


def held(state: dict[str, Any]) -> list[Tensor]:
    return list(bench_state(state).slot("a").args)


def copies(state: dict[str, Any]) -> list[Tensor]:
    return [each.clone() for each in held(state)]


def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def add_in_place(x: Tensor, y: Tensor) -> Tensor:
    return x.add_(y)


def take(table: Tensor, at: Tensor) -> Tensor:
    return table[at]


@pytest.fixture(scope="module")
def added() -> dict[str, Any]:
    return opened(add, (torch.rand(9, 7), torch.rand(9, 7)))


def hold(state: dict[str, Any], tensors: list[Tensor]) -> None:
    """Have these in the slot, as if they had been drawn."""
    place = bench_state(state).slot("a")
    place.rest()
    place.held = list(tensors)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seeds=st.lists(st.integers(0, 2**48), min_size=1, max_size=4), rows=st.integers(2, 400))
def test_any_number_of_changes_is_undone_and_keeps_addresses(
    added: dict[str, Any], seeds: list[int], rows: int
) -> None:
    first = [torch.rand(rows, 7), torch.rand(rows, 7)]
    hold(added, [each.clone() for each in first])
    at = [each.data_ptr() for each in held(added)]
    for seed in seeds:
        assert stir(added, slot="a", seed=seed)
        for now, was in zip(held(added), first, strict=True):
            assert not torch.equal(now, was)
            assert bool(torch.isin(now, was).all()), "no new value"
    changed = copies(added)
    settle(added, slot="a")
    assert all(torch.equal(now, was) for now, was in zip(held(added), first, strict=True))
    assert [each.data_ptr() for each in held(added)] == at
    hold(added, [each.clone() for each in first])
    stir(added, slot="a", seed=seeds[-1])
    assert all(torch.equal(a, b) for a, b in zip(held(added), changed, strict=True)), "made alike elsewhere"


def test_what_is_drawn_again_is_as_drawn() -> None:
    state = opened(add, (torch.rand(9, 7), torch.rand(9, 7)))
    first, place = copies(state), bench_state(state).slot("a")
    for again in (place.rest, place.redraw):
        stir(state, slot="a", seed=3)
        again()
        settle(state, slot="a")
        assert all(torch.equal(now, was) for now, was in zip(held(state), first, strict=True))


@pytest.mark.parametrize(
    ("make", "changes"),
    [
        (lambda: torch.rand(8, 6).T, True),
        (lambda: torch.rand(4, 3, 5, 2).permute(0, 2, 3, 1), True),
        (lambda: torch.rand(1, 6).expand(8, 6), False),
        (lambda: torch.rand(8, 12)[:, ::2], False),
        (lambda: torch.rand(1, 1), False),
    ],
    ids=["transposed", "permuted", "expanded", "with gaps", "one element"],
)
def test_layouts(make: Any, changes: bool) -> None:
    state = opened(torch.neg, (make(),))
    bench_state(state).slot("a").held = [make()]
    (first,) = copies(state)
    assert stir(state, slot="a", seed=5) is changes
    assert torch.equal(held(state)[0], first) is not changes
    settle(state, slot="a")
    assert torch.equal(held(state)[0], first)


def test_indices_stay_where_floating_values_can_change() -> None:
    state = opened(take, (torch.rand(50, 3), torch.arange(50)))
    (table, at) = copies(state)
    assert stir(state, slot="a", seed=7)
    assert not torch.equal(held(state)[0], table) and torch.equal(held(state)[1], at)


def test_nothing_changes_where_inputs_are_changed_in_place() -> None:
    state = opened(add_in_place, (torch.rand(9, 7), torch.rand(9, 7)))
    first = copies(state)
    assert not stir(state, slot="a", seed=9)
    assert all(torch.equal(now, was) for now, was in zip(held(state), first, strict=True))


def test_settling_a_slot_that_is_not_there_is_nothing(tmp_path: Path) -> None:
    settle(opened(add, (torch.rand(2, 2), torch.rand(2, 2))), slot="gone")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.integers(2, 2**31)), min_size=1, max_size=5))
def test_draws_and_changes_in_any_order_are_undone(
    added: dict[str, Any], steps: list[tuple[bool, int]]
) -> None:
    ops.draw(added, slot="a", seed=1, draw="file")
    first = copies(added)
    for whole, seed in steps:
        assert (draw_anew if whole else stir)(added, slot="a", seed=seed)
        changed = [(now != was).sum() for now, was in zip(held(added), first, strict=True)]
        assert all(count > 30 if whole else 0 < count <= CHANGED for count in changed)
    settle(added, slot="a")
    assert all(torch.equal(now, was) for now, was in zip(held(added), first, strict=True))


def test_a_new_draw_is_that_of_its_seed_at_the_same_addresses() -> None:
    state = opened(take, (torch.rand(50, 3), torch.arange(50)))
    at = addresses(state, slot="a", whole=True)
    assert [size for _, size in at] == [50 * 3 * 4, 50 * 8], "indices too"
    for seed in (5, 6, 7):
        assert draw_anew(state, slot="a", seed=seed)
        assert addresses(state, slot="a", whole=True) == at
    drawn = bench_state(state).reference.draw(7, "file")
    assert all(torch.equal(now, new) for now, new in zip(held(state), drawn, strict=True))


@pytest.mark.parametrize("make", [lambda: torch.rand(1, 6).expand(8, 6), lambda: torch.rand(8, 12)[:, ::2]])
def test_what_is_not_dense_is_not_drawn_anew(make: Any) -> None:
    state = opened(torch.neg, (make(),))
    bench_state(state).slot("a").held = [make()]
    assert not draw_anew(state, slot="a", seed=5)
    assert addresses(state, slot="a", whole=True) == []


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**48))
def test_one_element_gets_a_value_that_it_may_never_have_had(added: dict[str, Any], seed: int) -> None:
    ops.draw(added, slot="a", seed=1, draw="file")
    hold(added, [torch.ones(9, 7), torch.ones(9, 7)])
    assert touch(added, slot="a", seed=seed)
    changed = [int((each != 1).sum()) for each in held(added)]
    assert sorted(changed) == [0, 1] and changed[seed % 2] == 1
    settle(added, slot="a")
    assert all(bool((each == 1).all()) for each in held(added))


def test_where_no_input_is_floating_one_takes_the_value_of_another() -> None:
    state = opened(torch.neg, (torch.arange(40),))
    first = copies(state)
    assert touch(state, slot="a", seed=5)
    assert bool(torch.isin(held(state)[0], first[0]).all())
    settle(state, slot="a")
    assert torch.equal(held(state)[0], first[0])
