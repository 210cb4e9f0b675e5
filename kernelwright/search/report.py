"""The document that `optimize --json` prints, made from a session and the trial that won.

Its keys are promised in `docs/interfaces.md`. Times are microseconds, intervals `[low, high]` at 95 %;
what was not measured is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.core.measurement import Measurement, Timing
from kernelwright.core.plan import Library, Plan
from kernelwright.core.problem import Problem
from kernelwright.core.trial import Run, Trial
from kernelwright.core.verdict import Verdict
from kernelwright.measure.baselines import Ranked
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.floors import Column, reporting_floor_us, sol_score


def report(
    run: Run,
    best: Trial | None,
    ranked: Sequence[Ranked],
    *,
    trials: int,
    seconds: float,
    search_seconds: float,
    notes: Sequence[str] = (),
    interrupted: bool = False,
) -> dict[str, Any]:
    """The whole document."""
    measurement = best.evaluation.measurement if best else None
    return {
        "problem": {"name": run.problem.name, "hash": run.problem.hash},
        "target": run.target.name,
        "run": run.id,
        "trials": trials,
        "seconds": round(seconds, 3),
        "search_seconds": round(search_seconds, 3),
        "interrupted": interrupted,
        "notes": list(notes),
        "baselines": _baselines(ranked, measurement),
        "best": None if best is None or measurement is None else _best(run, best, measurement, ranked),
    }


def column_of(problem: Problem, convolves: bool) -> Column:
    """`as_shipped` where default flags let this problem's products run in TF32, else `strict`."""
    flags = problem.flags
    return "as_shipped" if flags.tf32_matmul or (flags.tf32_conv and convolves) else "strict"


def _baselines(ranked: Sequence[Ranked], measurement: Measurement | None) -> dict[str, Any]:
    """Each baseline by name: measured beside the kernel if it was, else in the quick pass, else why not."""
    final = {timing.name: timing for timing in measurement.baselines} if measurement else {}
    return {one.name: _timing(final.get(one.name, one.timing), one.reason) for one in ranked}


def _timing(timing: Timing | None, reason: str | None) -> dict[str, Any]:
    if timing is None:
        return {"latency_us": None, "ci": None, "reason": reason}
    return {"latency_us": timing.latency_us, "ci": list(timing.ci)}


def _best(run: Run, best: Trial, measurement: Measurement, ranked: Sequence[Ranked]) -> dict[str, Any]:
    kernel, strongest = best.kernel, measurement.strongest
    latency = measurement.kernel.latency_us
    ratios, intervals = _speedups(measurement, ranked)
    floor_us = reporting_floor_us(run.problem, ceilings(run.target))
    against = next((t for t in measurement.baselines if strongest and t.name == strongest.baseline), None)
    return {
        "trial": best.id,
        "kernel": kernel.hash,
        "language": kernel.language,
        "trust": kernel.trust,
        "domain": kernel.domain,
        "latency_us": latency,
        "ci": list(measurement.kernel.ci),
        "speedup": ratios,
        "speedup_ci": intervals,
        "strongest": strongest.baseline if strongest else None,
        "status": measurement.status,
        "status_reason": _reason(run.problem, measurement),
        "precision": "kept",
        "column": "strict" if run.target.name == "cpu" else column_of(run.problem, _convolves(kernel.plan)),
        "labels": _labels(best.evaluation.verdict),
        "floor_share": measurement.floor_share,
        "sol_score": sol_score(latency, against.latency_us, floor_us) if against else None,
        "custom_share": custom_share(kernel.plan),
        "prepare_us": measurement.prepare_us,
        "level": best.evaluation.verdict.level if best.evaluation.verdict else None,
        "not_checked": list(best.evaluation.verdict.not_checked) if best.evaluation.verdict else [],
    }


def _reason(problem: Problem, measurement: Measurement) -> str:
    """Why the status is what it is, where that needs words."""
    weak = "; ".join(problem.degenerate) if measurement.status == "degenerate" else ""
    return weak or measurement.status_reason


def _labels(verdict: Verdict | None) -> list[str]:
    """What the gate `provenance` says of the types that the kernel computes in, such as TF32 products."""
    gates = verdict.gates if verdict else ()
    return [label for gate in gates if gate.name == "provenance" for label in gate.evidence.get("labels", ())]


def _speedups(
    measurement: Measurement, ranked: Sequence[Ranked]
) -> tuple[dict[str, float | None], dict[str, list[float] | None]]:
    """Ratios over every baseline; those that were only ranked have no paired interval."""
    ratios: dict[str, float | None] = {}
    intervals: dict[str, list[float] | None] = {}
    for one in ranked:
        timing = one.timing
        ratios[one.name] = timing.latency_us / measurement.kernel.latency_us if timing else None
        intervals[one.name] = None
    for speedup in measurement.speedups:
        ratios[speedup.baseline], intervals[speedup.baseline] = speedup.ratio, list(speedup.ci)
    strongest = measurement.strongest
    ratios["strongest"] = strongest.ratio if strongest else None
    intervals["strongest"] = list(strongest.ci) if strongest else None
    return ratios, intervals


def custom_share(plan: Plan | None) -> float | None:
    """Share of time in kernels of our own: 1 where the plan calls no library; unknown where it does."""
    if plan is None:
        return None
    return None if any(isinstance(step, Library) for step in plan.run) else 1.0


def _convolves(plan: Plan | None) -> bool:
    return plan is not None and any(isinstance(s, Library) and "convolution" in s.op for s in plan.run)
