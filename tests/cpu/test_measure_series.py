"""The sampling loop on synthetic clocks: orders, drift, stopping, and what is recorded."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.core.target import Target
from kernelwright.measure.paired import Claim, measure_with, summarize
from kernelwright.measure.schedule import Schedule
from kernelwright.measure.series import drift, take_series
from kernelwright.measure.statistics import Ratio
from kernelwright.measure.stopping import RULES, Rule, rule
from kernelwright.measure.stopwatch import Resolution

CPU = Target(name="cpu", arch="native")


class FakeStopwatch:
    """Times drawn from a seeded source; `speed` is what the sentinels show at each reading."""

    clock = "outside"
    processes = ()

    def __init__(self, means, noise=0.01, seed=0, speeds=(), null_us=1.0):
        self.means, self.noise, self.rng = means, noise, random.Random(seed)
        self.speeds, self.null_us = list(speeds), null_us
        self.warmed, self.calls = Counter(), []

    def warm(self, subjects, slots, calls):
        self.warmed.update({(name, slot): calls for name in subjects for slot in slots})

    def block(self, rounds):
        self.calls += [(name, one.slot) for one in rounds for name in one.order]
        return [
            {name: self.means[name] * self.rng.lognormvariate(0, self.noise) for name in one.order}
            for one in rounds
        ]

    def sentinels(self):
        speed = self.speeds.pop(0) if self.speeds else 1.0
        return {"copy": 100.0 * speed, "product": 50.0}

    def resolution(self):
        return Resolution(self.null_us, 2 * self.null_us)

    def facts(self):
        return {"flush": "read"}


def run(stopwatch, using, baselines=("eager",), **options):
    schedule = Schedule(["kernel", *baselines], ["a", "b", "c"], random.Random(1))
    return take_series(stopwatch, "kernel", baselines, schedule, using, **options)


@given(st.integers(1, 5), st.integers(1, 4), st.integers(2, 40), st.integers(0, 999))
def test_schedules_are_mirrored_complete_and_rotate(subjects, slots, count, seed):
    names, places = [f"s{i}" for i in range(subjects)], [f"p{i}" for i in range(slots)]
    rounds = Schedule(names, places, random.Random(seed)).take(count)
    assert all(sorted(one.order) == names for one in rounds)
    assert [one.slot for one in rounds] == [places[i % slots] for i in range(count)]
    for first, second in zip(rounds[0::2], rounds[1::2], strict=False):
        assert second.order == first.order[::-1]


def test_the_order_is_not_always_the_same():
    rounds = Schedule(["a", "b"], ["s"], random.Random(3)).take(40)
    assert {one.order for one in rounds[0::2]} == {("a", "b"), ("b", "a")}


def test_quiet_times_stop_at_the_minimum():
    series = run(FakeStopwatch({"kernel": 100.0, "eager": 150.0}, noise=0.0), RULES["quick"])
    assert series.rounds == RULES["quick"].min_rounds
    assert series.reason == "interval narrow enough"


def test_noisy_times_use_their_rounds_up():
    series = run(FakeStopwatch({"kernel": 100.0, "eager": 150.0}, noise=0.5), RULES["quick"])
    assert series.rounds == RULES["quick"].max_rounds
    assert series.reason == "rounds used up"


def test_a_slow_clock_never_cuts_below_the_minimum():
    clock = iter(range(0, 10**6, 1000))
    series = run(
        FakeStopwatch({"kernel": 1e6, "eager": 1e6}, noise=0.3), RULES["quick"], now=lambda: next(clock)
    )
    assert series.rounds == RULES["quick"].min_rounds
    assert series.reason == "time used up"


def test_a_loser_is_stopped_early_and_a_winner_is_not():
    using = Rule("t", min_rounds=6, max_rounds=60, max_seconds=1e9, half_width=0.0)
    loser = run(FakeStopwatch({"kernel": 100.0, "eager": 110.0}), using, incumbent=1.5)
    assert (loser.rounds, loser.reason) == (6, "cannot reach the best known")
    winner = run(FakeStopwatch({"kernel": 100.0, "eager": 300.0}), using, incumbent=1.5)
    assert (winner.rounds, winner.reason) == (60, "rounds used up")


def test_a_block_that_drifted_is_taken_again():
    using = Rule("t", min_rounds=6, max_rounds=12, max_seconds=1e9, half_width=0.0)
    stopwatch = FakeStopwatch({"kernel": 1.0, "eager": 1.0}, speeds=[1.0, 1.3, 1.3, 1.3])
    series = run(stopwatch, using)
    assert (series.discarded, series.rounds) == (1, 12)
    assert len(stopwatch.calls) == 2 * 18
    assert max(series.drifts) == 0.0


def test_a_machine_that_never_holds_still_is_recorded_not_dropped():
    using = Rule("t", min_rounds=6, max_rounds=6, max_seconds=1e9, half_width=0.0, max_discarded=3)
    series = run(FakeStopwatch({"kernel": 1.0, "eager": 1.0}, speeds=[1.0, 2.0] * 10), using)
    assert (series.discarded, series.rounds) == (3, 6)
    assert series.drifts == [pytest.approx(1.0)]


def test_drift_is_symmetric_and_takes_the_worst():
    slow, fast = {"copy": 120.0, "product": 50.0}, {"copy": 100.0, "product": 50.0}
    assert drift(slow, fast) == drift(fast, slow) == pytest.approx(0.2)
    assert drift(fast, fast) == 0.0


def measured(means, null_us=0.1, processes=1, noise=0.01, **claim):
    using = RULES["quick"]
    taken = [
        measure_with(
            FakeStopwatch(means, noise, seed, null_us=null_us),
            "kernel",
            ["eager", "compile"],
            ["a", "b"],
            using,
            rng=random.Random(seed),
        )
        for seed in range(processes)
    ]
    return summarize(taken, "outside", "kernel", ["eager", "compile"], using, CPU, Claim(**claim))


def test_a_measurement_has_samples_intervals_status_and_method():
    found = measured({"kernel": 100.0, "eager": 300.0, "compile": 150.0}, processes=2, floor_us=50.0)
    assert found.status == "won" and found.strongest is not None
    assert found.strongest.baseline == "compile"
    assert found.strongest.ratio == pytest.approx(1.5, rel=0.02)
    assert found.strongest.ci[0] < 1.5 < found.strongest.ci[1]
    assert found.floor_share == pytest.approx(0.5, rel=0.02)
    assert len(found.kernel.samples_us) == 2
    assert found.kernel.ci[0] <= found.kernel.latency_us <= found.kernel.ci[1]
    assert found.stopping.startswith("quick: ")
    assert [one["discarded"] for one in found.environment["series"]] == [0, 0]


@pytest.mark.parametrize(
    ("kernel", "compiled", "status"),
    [
        (10.0, 15.0, "unresolved"),
        (10.0, 29.0, "unresolved"),
        (10.0, 150.0, "won"),
        (150.0, 10.0, "behind"),
        (10.0, 10.0, "unresolved"),
        (100.0, 100.0, "at_floor"),
    ],
)
def test_of_calls_below_the_clock_only_a_difference_above_it_can_be_told(kernel, compiled, status):
    """The clock costs 1 us and resolves 20."""
    means = {"kernel": kernel, "eager": 300.0, "compile": compiled}
    found = measured(means, null_us=1.0, processes=3, noise=0.001, floor_us=kernel)
    assert found.status == status, found.status_reason
    if status == "unresolved":
        assert "tells nothing below 20 us" in found.status_reason


def test_a_degenerate_task_wins_nothing():
    means = {"kernel": 100.0, "eager": 300.0, "compile": 150.0}
    assert measured(means, degenerate=True).status == "degenerate"


def test_preparation_is_charged_unless_weights_are_frozen():
    means = {"kernel": 100.0, "eager": 150.0, "compile": 150.0}
    charged = measured(means, prepare_us=100.0, charge_prepare=True)
    assert charged.status == "behind" and charged.kernel.latency_us == pytest.approx(200.0, rel=0.05)
    assert measured(means, prepare_us=100.0).status == "won"


def test_warm_up_is_a_fixed_number_of_calls_on_each_slot():
    stopwatch = FakeStopwatch({"kernel": 1.0, "eager": 1.0})
    measure_with(stopwatch, "kernel", ["eager"], ["a", "b"], RULES["full"])
    assert set(stopwatch.warmed.values()) == {RULES["full"].warmup}
    assert len(stopwatch.warmed) == 4


def test_rules_that_could_end_without_samples_are_refused():
    with pytest.raises(UsageError, match="at least 1"):
        Rule("bad", min_rounds=0, max_rounds=5, max_seconds=1, half_width=0.1)
    with pytest.raises(UsageError, match="did you mean 'quick'"):
        rule("quik")


@given(st.integers(0, 200), st.floats(0, 1e4), st.floats(0.5, 2.0), st.floats(0.0, 0.2))
def test_every_rule_ends_and_none_ends_early(rounds, seconds, ratio, within):
    for using in RULES.values():
        found = using.reason(rounds, seconds, [Ratio(ratio, ratio * 0.9, ratio * 1.1, within)], 1.2)
        if rounds < using.min_rounds:
            assert found is None
        if rounds >= using.max_rounds or (rounds >= using.min_rounds and seconds >= using.max_seconds):
            assert found is not None
