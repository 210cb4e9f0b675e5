"""Intervals: invariances, coverage on hostile synthetic series, and few false alarms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.measurement import Speedup
from kernelwright.measure.statistics import (
    PRIOR_SIGMA,
    between_sigma,
    median,
    median_interval,
    paired_ratio,
)
from kernelwright.measure.status import firm, status_of

times = st.floats(1.0, 1e6)
replicate = st.lists(st.tuples(times, times), min_size=1, max_size=30)
replicates = st.lists(replicate, min_size=1, max_size=4)


def split(pairs):
    return [[b for b, _ in one] for one in pairs], [[k for _, k in one] for one in pairs]


def hostile(rng, processes, rounds, ratio, noise, between=PRIOR_SIGMA):
    """Lognormal times with drift common to both sides, autocorrelation, outliers and process effects."""
    sides = ([], [])
    for _ in range(processes):
        drift = np.linspace(0, rng.normal(0, 0.05), rounds)
        effect = rng.normal(0, between)
        for side, offset in zip(sides, (math.log(ratio) + effect, 0.0), strict=True):
            steps = rng.normal(0, noise, rounds)
            walk = np.convolve(steps, [0.8, 0.5, 0.3], mode="same")
            outliers = (rng.random(rounds) < 0.05) * rng.exponential(0.3, rounds)
            side.append(list(1000 * np.exp(drift + walk + outliers + offset)))
    return sides


@settings(max_examples=60, deadline=None)
@given(replicates, st.floats(1e-3, 1e3))
def test_a_common_scale_changes_nothing(pairs, scale):
    baseline, kernel = split(pairs)
    one = paired_ratio(baseline, kernel)
    other = paired_ratio(
        [[t * scale for t in side] for side in baseline], [[t * scale for t in side] for side in kernel]
    )
    assert (other.ratio, other.low, other.high) == pytest.approx((one.ratio, one.low, one.high), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(replicates)
def test_swapping_the_sides_inverts_the_interval(pairs):
    baseline, kernel = split(pairs)
    one, other = paired_ratio(baseline, kernel), paired_ratio(kernel, baseline)
    assert (1 / other.ratio, 1 / other.high, 1 / other.low) == pytest.approx(
        (one.ratio, one.low, one.high), rel=1e-6
    )


@settings(max_examples=60, deadline=None)
@given(replicates)
def test_the_interval_holds_its_ratio(pairs):
    found = paired_ratio(*split(pairs))
    assert found.low <= found.ratio <= found.high


def test_one_process_is_never_surer_than_processes_differ():
    same = [[100.0] * 60]
    found = paired_ratio(same, same)
    assert found.within == 0.0
    assert math.log(found.high) > PRIOR_SIGMA
    assert math.log(found.low) < -PRIOR_SIGMA


def test_more_processes_narrow_the_interval_and_disagreeing_ones_widen_it():
    widths = []
    for effects in ([0.0], [0.0] * 3, [-0.05, 0.0, 0.05]):
        found = paired_ratio([[100.0 * math.exp(e)] * 20 for e in effects], [[100.0] * 20] * len(effects))
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] < widths[2]


def test_between_sigma_moves_from_the_prior_to_what_is_seen():
    within = np.zeros(50)
    seen = between_sigma(np.linspace(-0.1, 0.1, 50), within)
    assert 0.9 * 0.0589 < seen < 0.0589
    assert between_sigma(np.zeros(1), within[:1]) == PRIOR_SIGMA
    assert between_sigma(np.zeros(3), within[:3]) < PRIOR_SIGMA


@pytest.mark.parametrize(
    "processes, rounds, noise", [(1, 12, 0.005), (1, 24, 0.03), (3, 18, 0.01), (3, 24, 0.04)]
)
def test_intervals_cover_the_true_ratio(processes, rounds, noise):
    rng = np.random.default_rng(processes * 100 + rounds)
    series = [paired_ratio(*hostile(rng, processes, rounds, 1.3, noise)) for _ in range(300)]
    covered = sum(found.low <= 1.3 <= found.high for found in series) / len(series)
    assert covered >= 0.90


@pytest.mark.parametrize("rounds, noise", [(8, 0.02), (24, 0.03), (24, 0.05)])
def test_equal_sides_seldom_look_different(rounds, noise):
    rng = np.random.default_rng(rounds)
    alarms = 0
    for _ in range(500):
        found = paired_ratio(*hostile(rng, 1, rounds, 1.0, noise))
        speedups = [Speedup(baseline="same", ratio=found.ratio, ci=(found.low, found.high))]
        alarms += status_of(speedups) in ("won", "behind") and firm(speedups)
    assert alarms <= 4


def test_an_outlier_moves_neither_median_nor_ratio_far():
    clean = [[100.0 + i % 3 for i in range(24)]]
    spiked = [[*clean[0][:-1], 1e6]]
    assert paired_ratio(spiked, clean).ratio == pytest.approx(1.0, abs=0.02)
    assert median(spiked[0]) == pytest.approx(101.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(times, min_size=1, max_size=80))
def test_a_median_lies_in_its_interval(samples):
    low, high = median_interval(samples)
    assert min(samples) <= low <= median(samples) <= high <= max(samples)


def test_order_statistics_are_those_of_the_binomial():
    assert median_interval(list(range(1, 7))) == (1.0, 6.0)
    assert median_interval(list(range(1, 11))) == (2.0, 9.0)
    assert median_interval(list(range(1, 26))) == (8.0, 18.0)


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0, 2.0], [math.nan], [math.inf]])
def test_times_that_are_no_times_are_refused(bad):
    with pytest.raises(ValueError, match="positive"):
        median(bad)
    with pytest.raises(ValueError, match="positive"):
        paired_ratio([bad], [bad])
