"""One measurement: a kernel beside its baselines, in one or several fresh processes.

    paired(bench, "kernel", ["eager", "compile"], slots, RULES["quick"]) -> Measurement
    replicated(open_bench, "kernel", baselines, slots, RULES["full"]) -> Measurement

The clock is chosen by the target: the judge's own on a CPU, device events or graph replay on a GPU
(`device.py`). What comes out are samples by process, medians, intervals and ratios of paired
times; the status follows from those alone (`status.py`).
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.core.measurement import Measurement, Speedup, Status, Timing
from kernelwright.core.target import Target
from kernelwright.measure.environment import environment
from kernelwright.measure.schedule import Schedule
from kernelwright.measure.series import Series, take_series
from kernelwright.measure.statistics import median, median_interval, paired_ratio
from kernelwright.measure.status import firm, status_of
from kernelwright.measure.stopping import Rule
from kernelwright.measure.stopwatch import ClockName, Resolution, Stopwatch


@dataclass(frozen=True, slots=True)
class Claim:
    """What a status needs to know beside the times."""

    floor_us: float | None = None
    """The reporting floor."""
    degenerate: bool = False
    prepare_us: float | None = None
    charge_prepare: bool = False
    """Add `prepare_us` to each time of the kernel: the weights are not frozen."""


def measure_with(
    stopwatch: Stopwatch,
    subject: str,
    baselines: Sequence[str],
    slots: Sequence[str],
    rule: Rule,
    *,
    incumbent: float | None = None,
    rng: random.Random | None = None,
) -> tuple[Series, Resolution]:
    """Warm up a fixed number of calls, then sample one process."""
    rng = rng or random.Random(secrets.randbits(64))
    stopwatch.warm([subject, *baselines], slots, rule.warmup)
    schedule = Schedule([subject, *baselines], slots, rng)
    series = take_series(stopwatch, subject, baselines, schedule, rule, incumbent=incumbent)
    return series, stopwatch.resolution()


def summarize(
    taken: Sequence[tuple[Series, Resolution]],
    clock: ClockName,
    subject: str,
    baselines: Sequence[str],
    rule: Rule,
    target: Target,
    claim: Claim,
) -> Measurement:
    """The measurement that these series, one for each process, amount to."""
    every = [series for series, _ in taken]
    charge = (claim.prepare_us or 0.0) if claim.charge_prepare else 0.0
    kernel = _timing(subject, [[us + charge for us in series.times[subject]] for series in every])
    others = tuple(_timing(name, [series.times[name] for series in every]) for name in baselines)
    speedups = tuple(_speedup(baseline, kernel) for baseline in others)
    resolution = max(found.resolution_us for _, found in taken)
    share = claim.floor_us / kernel.latency_us if claim.floor_us else None
    return Measurement(
        clock=clock,
        kernel=kernel,
        baselines=others,
        speedups=speedups,
        status=_status(speedups, [kernel, *others], share, resolution, claim),
        floor_share=share,
        resolution_us=resolution,
        stopping=rule.describe(every[-1].reason, sum(series.rounds for series in every)),
        prepare_us=claim.prepare_us,
        environment={**environment(target), "series": [_facts(series) for series in every]},
    )


def _status(
    speedups: Sequence[Speedup],
    timings: Sequence[Timing],
    share: float | None,
    resolution_us: float,
    claim: Claim,
) -> Status:
    resolved = min(timing.latency_us for timing in timings) >= resolution_us
    status = status_of(speedups, share, resolved=resolved, degenerate=claim.degenerate)
    return "unresolved" if status in ("won", "behind") and not firm(speedups) else status


def _timing(name: str, samples: list[list[float]]) -> Timing:
    pooled = [us for replicate in samples for us in replicate]
    return Timing(
        name=name,
        latency_us=median(pooled),
        ci=median_interval(pooled),
        samples_us=tuple(tuple(replicate) for replicate in samples),
    )


def _speedup(baseline: Timing, kernel: Timing) -> Speedup:
    found = paired_ratio(baseline.samples_us, kernel.samples_us)
    return Speedup(baseline=baseline.name, ratio=found.ratio, ci=(found.low, found.high))


def _facts(series: Series) -> dict[str, Any]:
    return {
        "rounds": series.rounds,
        "seconds": round(series.seconds, 4),
        "drift": round(max(series.drifts, default=0.0), 4),
        "discarded": series.discarded,
        "steal": series.steal,
        "reason": series.reason,
        **series.facts,
    }
