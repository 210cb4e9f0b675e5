"""The status of a measurement: every case has exactly one, and better never ranks lower."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.measurement import Speedup, Status
from kernelwright.measure.status import firm, over_strongest, status_of


def speedup(low, high, name="eager"):
    return Speedup(baseline=name, ratio=(low * high) ** 0.5, ci=(low, high))


@pytest.mark.parametrize(
    "low, high, share, expected",
    [
        (1.02, 1.5, None, "won"),
        (1.3, 1.4, 0.99, "won"),
        (1.019, 1.5, None, "unresolved"),
        (0.99, 1.01, 0.95, "at_floor"),
        (0.99, 1.2, 1.3, "at_floor"),
        (0.989, 1.01, 0.99, "level"),
        (0.98, 1.02, None, "level"),
        (0.98, 1.021, None, "unresolved"),
        (0.99, 1.05, 0.5, "unresolved"),
        (0.90, 0.99, None, "unresolved"),
        (0.5, 0.98, 0.99, "behind"),
        (0.1, 3.0, None, "unresolved"),
    ],
)
def test_borders(low, high, share, expected):
    assert status_of([speedup(low, high)], share) == expected


intervals = st.tuples(st.floats(0.2, 4.0), st.floats(1.0, 2.0)).map(lambda x: (x[0], x[0] * x[1]))
shares = st.none() | st.floats(0.0, 1.5)


@given(st.lists(intervals, max_size=4), shares, st.booleans(), st.booleans())
def test_every_case_has_a_status(found, share, resolved, degenerate):
    status = status_of(
        [speedup(*interval) for interval in found], share, resolved=resolved, degenerate=degenerate
    )
    assert status in get_args(Status)
    assert (status == "degenerate") == degenerate
    if not degenerate and (not resolved or not found):
        assert status == "unresolved"


@given(intervals, shares, st.floats(1.0, 2.0))
def test_a_faster_kernel_never_turns_from_won_to_behind(found, share, gain):
    order = ["behind", "unresolved", "level", "at_floor", "won"]
    before = status_of([speedup(*found)], share)
    after = status_of([speedup(found[0] * gain, found[1] * gain)], share)
    if before == "won":
        assert after == "won"
    if after == "behind":
        assert before == "behind"
    assert order.index(after) >= 0


@pytest.mark.parametrize("low, high, expected", [(1.02, 1.06, True), (1.02, 1.07, False), (2.0, 5.0, True)])
def test_a_claim_needs_two_half_widths(low, high, expected):
    assert firm([speedup(low, high)]) is expected
    assert firm([speedup(1 / high, 1 / low)]) is expected


@given(st.floats(1.02, 1.5), st.floats(1.0, 1.04))
def test_narrow_wins_are_always_firm(low, spread):
    assert firm([speedup(low, low * spread)])


@given(intervals, intervals)
def test_another_baseline_never_helps(one, other):
    alone = over_strongest([speedup(*one)])
    both = over_strongest([speedup(*one), speedup(*other, name="compile")])
    assert both[0] <= alone[0] and both[1] <= alone[1]
