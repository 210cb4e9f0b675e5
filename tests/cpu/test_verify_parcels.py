"""What open kernels on a GPU are given and what is seen of it; on a CPU, without the parcels themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_execute_stir import opened
from test_verify_fresh import CASES
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.execute.calls import NOTHING
from kernelwright.execute.packing import Packing
from kernelwright.execute.state import bench_state
from kernelwright.verify import parcel_ops
from kernelwright.verify.base import Rejected
from kernelwright.verify.parcels import Parcels

SEEDS = [11, 12, 13]


def begun(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reference's process after a round has begun, and what it said."""
    state = opened(function, inputs)
    bench = bench_state(state)
    state["mixed"] = [bench.reference.draw(seed, "file") for seed in (1, 2)]
    return state, parcel_ops.begin(state, slot="a", seeds=SEEDS, pieces=3, nbytes=64)


def arguments(state: dict[str, Any], seed: int) -> list[Any]:
    """What a call with this seed is given."""
    packing = Packing.of(state["mixed"][0])
    views = packing.views(torch.empty(packing.nbytes, dtype=torch.uint8), 0)
    parcel_ops._mix(state, seed, views)
    return views


def answered(state: dict[str, Any], results: list[Tensor]) -> dict[str, int]:
    """What becomes of results, in the order of calls and outputs."""
    current = state["round"]
    flat = [result.contiguous().view(-1).view(torch.uint8) for result in results]
    current.read = [bytes(flat[n][first : first + size].tolist()) for n, first, size in pieces(state)]
    return parcel_ops.compare(state)


def pieces(state: dict[str, Any]) -> list[tuple[int, int, int]]:
    return [piece.at for piece in state["round"].pieces]


@pytest.mark.parametrize(("function", "inputs"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_answers_to_the_contents_of_the_call_pass_and_others_do_not(
    function: Callable[..., Any], inputs: tuple[Tensor, ...]
) -> None:
    state, said = begun(function, inputs)
    assert said == {"moved": len(SEEDS), "why": ""} and len(SEEDS) <= parcel_ops.WATCHED
    forward = bench_state(state).reference.forward
    right = [out for seed in SEEDS for out in forward(arguments(state, seed))]
    found = answered(state, right)
    assert (found["wrong"], found["unread"]) == (0, 0) and found["compared"] >= 3 * len(SEEDS)
    drawn = forward(state["mixed"][0])
    assert answered(state, drawn * len(SEEDS))["wrong"] >= len(SEEDS), "answers to a draw that was mixed"
    count = len(right) // len(SEEDS)
    assert answered(state, right[count:] + right[:count])["wrong"] >= len(SEEDS), "answers to other calls"


def test_pieces_that_could_not_be_read_are_counted_apart() -> None:
    state, _ = begun(*CASES[0])
    state["round"].read = [None] * len(pieces(state))
    assert parcel_ops.compare(state) == {"compared": 0, "wrong": 0, "unread": len(pieces(state))}


def test_each_call_gets_a_mixture_of_its_own_and_the_same_one_again() -> None:
    state, _ = begun(*CASES[0])
    first, again, other = (arguments(state, seed) for seed in (11, 11, 12))
    for one, two, three in zip(first, again, other, strict=True):
        assert torch.equal(one, two) and not torch.equal(one, three)
        a, b = (pytree.tree_leaves(args)[0] for args in state["mixed"])
        assert 0.4 < float((first[0] == a).float().mean()) < 0.6
        assert bool(((first[0] == a) | (first[0] == b)).all()), "values are those that were drawn"


def repeated(x: Tensor) -> Tensor:
    return x * 2


def test_inputs_that_repeat_without_memory_are_mixed_where_they_lie() -> None:
    state = opened(repeated, (torch.randn(1, 7).expand(5, 7),))
    draws = [[torch.randn(1, 7).expand(5, 7)] for _ in range(2)]
    state["mixed"] = draws
    (found,) = arguments(state, 3)
    assert found.stride() == (0, 1) and bool((found == found[0]).all())


class Watched(Parcels):
    """Its rules alone, without a bench."""

    def __init__(self, quiet_us: float = 60.0, copies: list[float] | None = None) -> None:
        self._times = defaultdict(list)
        self._many = 0
        self._quiet_us = quiet_us
        self._copies = iter(copies or [])

    def _copies_us(self) -> float:
        return next(self._copies)


CALLS = 8


def told(alone: dict[str, float], among: dict[str, float], window: tuple[float, float] = (0, 0)) -> Watched:
    """Calls that take `alone` and `among` others, where windows of the kernel and of others cost `window`."""
    watched, costs = Watched(), {"kernel": window[0], "eager": window[1]}
    for _ in range(3):
        single = {name: us + costs[name] for name, us in alone.items()}
        watched.taken(1, single | dict(zip(NOTHING, window, strict=True)))
        watched.taken(CALLS, {name: us + costs[name] / CALLS for name, us in among.items()})
    return watched


US = st.floats(5, 1e5)
WINDOW = st.floats(0, 1500)


@given(US, US, WINDOW, WINDOW)
def test_what_windows_cost_in_a_process_accuses_nobody(
    kernel: float, eager: float, here: float, there: float
) -> None:
    calls = {"kernel": kernel, "eager": eager}
    told(calls, calls, (here, there))


def test_a_kernel_that_gains_a_little_more_than_baselines_is_not_accused() -> None:
    told({"kernel": 1600.0, "eager": 1450.0}, {"kernel": 1000.0, "eager": 1000.0}, (900.0, 300.0))


def test_calls_that_are_worked_off_together_are_seen() -> None:
    with pytest.raises(Rejected, match="worked off together") as seen:
        told({"kernel": 1400.0, "eager": 1400.0}, {"kernel": 300.0, "eager": 1000.0}, (900.0, 300.0))
    assert seen.value.kind == "time"


def test_a_device_that_stays_busy_while_the_kernel_is_held_is_seen() -> None:
    Watched().copied(62.0)
    Watched(copies=[110.0, 61.0, 118.0]).copied(120.0)
    with pytest.raises(Rejected, match="busy while"):
        Watched(copies=[110.0, 119.0, 118.0]).copied(120.0)


def test_of_many_calls_some_are_looked_at_and_others_in_the_next_round() -> None:
    state, _ = begun(*CASES[0])
    many = list(range(100, 130))
    seen = set()
    for _ in range(20):
        parcel_ops.begin(state, slot="a", seeds=many, pieces=1, nbytes=4)
        calls = {place for place, _, _ in pieces(state)}
        assert len(calls) == parcel_ops.WATCHED
        seen |= calls
    assert len(seen) > 20
