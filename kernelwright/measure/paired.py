"""One measurement: a kernel beside its baselines, in one or several fresh processes.

    paired(bench, "kernel", ["eager", "compile"], slots, RULES["quick"]) -> Measurement
    paired(bench, "kernel", names, slots, RULES["full"], reload=lambda: load_and_prepare(bench))

The clock is chosen by the target: the judge's own on a CPU, device events or graph replay on a GPU
(`device.py`). What comes out are samples by process, medians, intervals and ratios of paired
times; the status follows from those alone (`status.py`).
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import UsageError
from kernelwright.core.measurement import Measurement, Speedup, Status, Timing
from kernelwright.core.target import Target
from kernelwright.measure.environment import environment
from kernelwright.measure.schedule import Schedule
from kernelwright.measure.series import Series, take_series
from kernelwright.measure.statistics import median, median_interval, paired_ratio
from kernelwright.measure.status import firm, status_of
from kernelwright.measure.stopping import Rule
from kernelwright.measure.stopwatch import ClockName, Resolution, Stopwatch
from kernelwright.measure.witness import Witness

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench


@dataclass(frozen=True, slots=True)
class Claim:
    """What a status needs to know beside the times."""

    floor_us: float | None = None
    """The reporting floor."""
    degenerate: bool = False
    prepare_us: float | None = None
    charge_prepare: bool = False
    """Add `prepare_us` to each time of the kernel: the weights are not frozen."""


_NO_CLAIM = Claim()


def paired(
    bench: Bench,
    subject: str,
    baselines: Sequence[str],
    slots: Sequence[str],
    rule: Rule,
    *,
    incumbent: float | None = None,
    claim: Claim = _NO_CLAIM,
    witness: Witness | None = None,
    reload: Callable[[], object] | None = None,
) -> Measurement:
    """Measure `subject` (`kernel`, loaded and prepared, or a baseline's name) beside `baselines`.

    `slots` are drawn already and rotate. `incumbent` is the low end of the best known speed-up, below
    which a loser is stopped. `witness` receives what timed calls of the kernel left. A rule with more
    than one replicate restarts the bench between them, and before the first where enough fresh processes
    are waiting, which drops all other slots, and calls `reload` to load the kernel again.
    CandidateFailed where the kernel fails; UsageError where `reload` is missing.
    """
    if rule.replicates > 1 and reload is None:
        raise UsageError(
            f"rule '{rule.name}' wants {rule.replicates} processes; give `reload`, or a rule with one"
        )
    clock: ClockName | None = None
    taken: list[tuple[Series, Resolution]] = []
    left_out: dict[str, str] = {}
    waiting = 0
    if bench.replicates is not None:
        bench.replicates.settle()
        waiting = bench.replicates.waiting
    for replicate in range(rule.replicates):
        if reload is not None and (replicate or waiting >= rule.replicates):
            bench.restart(keep=slots)
            reload()
        stopwatch, refused = stopwatch_for(bench, [subject, *baselines], slots, witness, clock)
        clock, left_out = stopwatch.clock, {**left_out, **refused}
        timed = [name for name in baselines if name not in left_out]
        taken.append(measure_with(stopwatch, subject, timed, slots, rule, incumbent=incumbent))
    timed = [name for name in baselines if name not in left_out]
    found = summarize(taken, stopwatch.clock, subject, timed, rule, bench.target, claim)
    return found.model_copy(update={"environment": {**found.environment, "left_out": left_out}})


def stopwatch_for(
    bench: Bench,
    subjects: Sequence[str],
    slots: Sequence[str],
    witness: Witness | None = None,
    clock: ClockName | None = None,
) -> tuple[Stopwatch, dict[str, str]]:
    """The clock for this bench, and which subjects it cannot time, with reasons.

    `clock` asks for the one that an earlier replicate used.
    """
    if bench.target.name == "cpu":
        from kernelwright.measure.outside import OutsideClock

        return OutsideClock(bench, witness), {}
    if bench.open_on_device is not None:
        from kernelwright.measure.windows import WindowClock, WindowContents

        if not isinstance(witness, WindowContents):
            raise UsageError("open kernels on a GPU are timed in windows; give their contents as witness")
        return WindowClock(bench, witness), {}
    from kernelwright.measure.device import device_clock

    return device_clock(bench, subjects, slots, clock)


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
    status, reason = _status(speedups, [kernel, *others], share, resolution, claim)
    if status == "unresolved":
        reason = "; ".join(filter(None, [reason, _disturbed(every)]))
    return Measurement(
        clock=clock,
        kernel=kernel,
        baselines=others,
        speedups=speedups,
        status=status,
        status_reason=reason,
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
) -> tuple[Status, str]:
    """The status, and why it is not what the interval alone suggests. The kernel's timing is the first."""
    times = [timing.latency_us for timing in timings]
    long = min(times) >= resolution_us
    resolved = long or abs(times[0] - min(times[1:], default=times[0])) >= resolution_us
    status = status_of(speedups, share, resolved=resolved, degenerate=claim.degenerate)
    if status in ("level", "at_floor") and not long:
        status, resolved = "unresolved", False
    if status in ("won", "behind") and not firm(speedups):
        return "unresolved", "the interval is too wide for its distance from 1: a quieter machine tells more"
    if status != "unresolved" or not speedups:
        return status, ""
    if not resolved:
        return (
            status,
            f"this clock tells nothing below {resolution_us:,.0f} us here and now; try larger inputs",
        )
    return status, "the interval reaches across a border between statuses"


def _disturbed(every: Sequence[Series]) -> str:
    """What disturbed the noisiest process, in words."""
    told = [series.disturbance for series in every if series.disturbance.words()]
    return max(told, key=lambda one: (one.others or 0) + (one.steal or 0)).words() if told else ""


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
        "steal": series.disturbance.steal,
        "others": series.disturbance.others,
        "reason": series.reason,
        **series.facts,
    }
