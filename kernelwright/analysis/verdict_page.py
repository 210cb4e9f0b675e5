"""`verdict_page`: one page on one judgement, or on one for each workload of a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.analysis.evidence import evidence, flat
from kernelwright.analysis.page import render
from kernelwright.analysis.timing_chart import timing_chart
from kernelwright.core.kernel import Kernel
from kernelwright.core.measurement import Measurement
from kernelwright.core.problem import Problem
from kernelwright.core.trial import Evaluation

SAID = {
    "won": "faster than every baseline",
    "level": "as fast as the strongest baseline",
    "at_floor": "as fast as this machine allows",
    "behind": "slower than the strongest baseline",
    "unresolved": "too close to call, or too short to tell",
    "degenerate": "the task is weak, so a speed-up means nothing",
}
"""Statuses in words."""
_MISSED = ": not reached"


@dataclass(frozen=True)
class Judged:
    """What was judged, and what was found."""

    problem: Problem
    kernel: Kernel
    evaluation: Evaluation
    workload: str | None = None
    not_used: tuple[str, ...] = ()
    """What the problem's own definition says and was not gone by."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Machine and versions where it was judged, for a page on which nothing was timed."""


def verdict_page(judged: Sequence[Judged]) -> str:
    """The page; with several judgements, a list of them first."""
    shown = [_shown(one, number) for number, one in enumerate(judged)]
    rejected = sum(not one["accepted"] for one in shown)
    return render("verdict.html", shown=shown, rejected=rejected, title=f"{shown[0]['kernel'].name}: verdict")


def _shown(judged: Judged, number: int) -> dict[str, Any]:
    evaluation = judged.evaluation
    verdict, measurement = evaluation.verdict, evaluation.measurement
    reason = None if verdict is None else verdict.reason
    log = evaluation.build.log.strip()
    return {
        "number": number,
        "workload": judged.workload,
        "problem": judged.problem,
        "kernel": judged.kernel,
        "target": evaluation.target.name,
        "arch": evaluation.target.arch,
        "accepted": verdict is not None and verdict.verdict == "accepted",
        "level": verdict.level if verdict else None,
        "contract_version": verdict.contract_version if verdict else judged.problem.contract_version,
        "reason": reason or (None if verdict else {"gate": "build", "kind": "build", "message": _first(log)}),
        "gates": [(gate, evidence(gate)) for gate in (verdict.gates if verdict else ())],
        "not_checked": _grouped([*(verdict.not_checked if verdict else ()), *judged.not_used]),
        "build": evaluation.build,
        "log": log,
        "measurement": measurement,
        "environment": _facts(measurement.environment if measurement else judged.environment),
        **_timed(measurement),
    }


def _facts(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    return flat({name: fact for name, fact in environment.items() if name != "series"})


def _timed(measurement: Measurement | None) -> dict[str, Any]:
    if measurement is None:
        return {"chart": None, "times": [], "said": ""}
    ratios = {speedup.baseline: speedup for speedup in measurement.speedups}
    others = sorted(measurement.baselines, key=lambda timing: timing.latency_us)
    return {
        "chart": timing_chart(measurement),
        "times": [(timing, ratios.get(timing.name)) for timing in (measurement.kernel, *others)],
        "said": SAID[measurement.status],
    }


def _grouped(items: list[str]) -> list[str]:
    """The same, with all gates that were not reached in one item."""
    missed = [item.removesuffix(_MISSED) for item in items if item.endswith(_MISSED)]
    kept = [item for item in items if not item.endswith(_MISSED)]
    return [*kept, *([f"gates that were not reached: {', '.join(missed)}"] if missed else [])]


def _first(log: str) -> str:
    return next(iter(log.splitlines()), "it did not build")
