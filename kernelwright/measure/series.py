"""Samples of one process: blocks of rounds between sentinels, until the rule says enough.

A block whose sentinels before and after differ by more than the rule's drift is thrown away and
taken again, a bounded number of times; a machine that never holds still gets its samples kept and
the drift recorded, since an empty measurement would say less. What is thrown away never depends on
the subjects' times.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.measure.disturbance import Disturbance, disturbance, ticks
from kernelwright.measure.schedule import Schedule
from kernelwright.measure.statistics import Ratio, paired_ratio
from kernelwright.measure.stopping import Rule
from kernelwright.measure.stopwatch import Sentinels, Stopwatch


@dataclass
class Series:
    """Paired samples of one process, in the order they were taken."""

    times: dict[str, list[float]]
    """Microseconds by subject; index `i` of each belongs to round `i`."""
    sentinels: list[Sentinels] = field(default_factory=list)
    drifts: list[float] = field(default_factory=list)
    """Drift of each kept block, as a share."""
    discarded: int = 0
    """Blocks thrown away because the machine drifted."""
    reason: str = ""
    """Why sampling ended."""
    seconds: float = 0.0
    disturbance: Disturbance = field(default_factory=Disturbance)
    """What else used the processors meanwhile."""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Rounds kept."""
        return len(next(iter(self.times.values()), []))


def take_series(
    stopwatch: Stopwatch,
    subject: str,
    baselines: Sequence[str],
    schedule: Schedule,
    rule: Rule,
    *,
    incumbent: float | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Series:
    """Sample `subject` beside `baselines` until `rule` ends it. `stopwatch` must be warm."""
    series = Series({name: [] for name in (subject, *baselines)})
    started, first = now(), ticks(stopwatch.processes)
    before = stopwatch.sentinels()
    while not series.reason:
        rounds = schedule.take(min(rule.block_rounds, rule.max_rounds - series.rounds))
        taken = stopwatch.block(rounds)
        after = stopwatch.sentinels()
        _keep(series, taken, before, after, rule)
        before = after
        series.seconds = now() - started
        ratios = [ratio_of(series, name, subject) for name in baselines] if series.rounds else []
        series.reason = rule.reason(series.rounds, series.seconds, ratios, incumbent) or ""
    series.disturbance = disturbance(first, ticks(stopwatch.processes))
    series.facts = stopwatch.facts()
    return series


def drift(before: Sentinels, after: Sentinels) -> float:
    """Largest change between two readings of the sentinels, as a share (0.1: a tenth slower or faster)."""
    return max((abs(math.expm1(abs(math.log(after[name] / before[name])))) for name in before), default=0.0)


def ratio_of(series: Series, baseline: str, subject: str) -> Ratio:
    """Ratio of paired times within this process."""
    return paired_ratio([series.times[baseline]], [series.times[subject]])


def _keep(
    series: Series, taken: list[dict[str, float]], before: Sentinels, after: Sentinels, rule: Rule
) -> None:
    moved = drift(before, after)
    if moved > rule.max_drift and series.discarded < rule.max_discarded:
        series.discarded += 1
        return
    series.drifts.append(moved)
    series.sentinels.append(after)
    for times in taken:
        for name, samples in series.times.items():
            samples.append(times[name])
