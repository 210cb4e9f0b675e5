"""What a measurement may claim: one status, decided in a fixed order.

    degenerate   the task is weak (a constant output, an input that does not matter): nothing counts
    unresolved   the clock cannot tell such times apart, or nothing was compared
    won          the interval's low end is at least 1.02
    at_floor     at least 95 % of the reporting floor is reached, and the low end is at least 0.99
    level        the whole interval lies within 0.98 and 1.02
    behind       the whole interval lies at or below 0.98
    unresolved   anything else: the interval reaches across a border (0.99 to 1.05, 0.90 to 0.99)

The comparison is with the strongest baseline. Which one that is is itself uncertain, so the
interval judged is that of the smallest ratio: the smallest low end and the smallest high end.
`at_floor` stands before `level` because it says more: there is nothing left to gain.

A 95 % interval errs one time in twenty. Where it is narrow, the 2 % margin makes `won` and `behind`
far rarer errors than that; where it is wide the margin is no help, and noise that comes in waves
makes it err more often still. So a measurement claims either only if the ratio is also two
half-widths from 1 (`firm`), which below 2 % of half-width the margin itself sees to; else it is
`unresolved`, and more samples or a quieter machine are needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernelwright.core.measurement import Interval, Speedup, Status

WON = 1.02
LEVEL = (0.98, 1.02)
AT_FLOOR_SHARE = 0.95
AT_FLOOR_LOW = 0.99
FIRM_HALF_WIDTHS = 2.0
"""A claim's ratio is so many half-widths of its interval away from 1 (four standard errors)."""


def status_of(
    speedups: Sequence[Speedup],
    floor_share: float | None = None,
    *,
    resolved: bool = True,
    degenerate: bool = False,
) -> Status:
    """The status of a kernel with these speed-ups, one for each baseline.

    `floor_share` is the reporting floor over the kernel's time, `resolved` whether the clock can tell
    the kernel's time from the strongest baseline's.
    """
    if degenerate:
        return "degenerate"
    if not resolved or not speedups:
        return "unresolved"
    low, high = over_strongest(speedups)
    if low >= WON:
        return "won"
    if floor_share is not None and floor_share >= AT_FLOOR_SHARE and low >= AT_FLOOR_LOW:
        return "at_floor"
    if low >= LEVEL[0] and high <= LEVEL[1]:
        return "level"
    return "behind" if high <= LEVEL[0] else "unresolved"


def firm(speedups: Sequence[Speedup]) -> bool:
    """Whether the ratio over the strongest is far from 1, on a logarithmic scale, beside its interval."""
    low, high = over_strongest(speedups)
    middle, half = math.log(low * high) / 2, math.log(high / low) / 2
    return abs(middle) >= FIRM_HALF_WIDTHS * half


def over_strongest(speedups: Sequence[Speedup]) -> Interval:
    """Interval of the speed-up over the strongest of these baselines."""
    return min(speedup.ci[0] for speedup in speedups), min(speedup.ci[1] for speedup in speedups)
