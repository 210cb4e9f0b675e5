"""Strategies on synthetic objectives: no kernels, no clocks."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.propose.space import Choice, Space
from kernelwright.search.base import STRATEGIES, Budget

SPACE = Space.of(
    tile=(64, 16, 32, 128, 256), unroll=(1, 2, 4, 8), stream=(False, True), order=("row", "column", "block")
)


def cost(choice: Choice) -> float | None:
    """A smooth valley with one rejected corner; the optimum is 100."""
    if choice["order"] == "column" and choice["stream"]:
        return None
    tile = abs((16, 32, 64, 128, 256).index(choice["tile"]) - 3)
    unroll = abs((1, 2, 4, 8).index(choice["unroll"]) - 2)
    return 100.0 + 20 * tile + 15 * unroll + 30 * (choice["order"] != "block") + 25 * (not choice["stream"])


def drive(name: str, seed: int, trials: int, batch: int = 3) -> tuple[list[Choice], float]:
    strategy = STRATEGIES.get(name)(SPACE, Random(seed))
    tried: list[Choice] = []
    best = float("inf")
    while len(tried) < trials:
        chosen = strategy.ask(batch)
        if not chosen:
            break
        for choice in reversed(chosen):
            tried.append(choice)
            found = cost(choice)
            best = min(best, found if found is not None else best)
            strategy.tell(choice, found)
    return tried, best


@pytest.mark.parametrize("name", STRATEGIES.names())
@settings(deadline=None)
@given(seed=st.integers(0, 10_000))
def test_offers_each_choice_once_and_the_default_first(name: str, seed: int) -> None:
    tried, _ = drive(name, seed, trials=60)
    assert len(tried) == len(set(tried))
    assert SPACE.default() in tried[:3]


@pytest.mark.parametrize("name", ["local", "evolution"])
def test_finds_the_optimum_sooner_than_random_draws(name: str) -> None:
    guided = sum(drive(name, seed, trials=40)[1] for seed in range(20))
    blind = sum(drive("random", seed, trials=40)[1] for seed in range(20))
    assert guided < blind
    assert guided / 20 < 110


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_ends_when_the_space_is_used_up(name: str) -> None:
    tried, best = drive(name, seed=1, trials=10_000)
    assert len(tried) <= SPACE.size
    assert len(tried) > 0.9 * SPACE.size
    assert best == 100.0


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_a_space_of_one_choice(name: str) -> None:
    strategy = STRATEGIES.get(name)(Space(), Random(0))
    assert strategy.ask(4) == [Choice()]
    assert strategy.ask(4) == []


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_goes_on_when_everything_is_rejected(name: str) -> None:
    strategy = STRATEGIES.get(name)(SPACE, Random(3))
    for _ in range(8):
        chosen = strategy.ask(2)
        assert chosen
        for choice in chosen:
            strategy.tell(choice, None)


@pytest.mark.parametrize("name", ["local", "evolution"])
def test_builds_on_what_is_known_from_before(name: str) -> None:
    strategy = STRATEGIES.get(name)(SPACE, Random(5))
    known = Choice({"tile": 128, "unroll": 4, "stream": True, "order": "row"})
    strategy.tell(known, 1.0)
    offered = strategy.ask(40)
    assert known not in offered
    assert any(near in offered for near in SPACE.neighbors(known))


def test_budget_leaves_out_queueing() -> None:
    now = [10.0]
    budget = Budget(60.0, clock=lambda: now[0])
    now[0] = 25.0
    with budget.paused():
        now[0] = 125.0
    assert budget.used == 15.0
    assert budget.left == 45.0
    now[0] = 1e6
    assert budget.left == 0.0
