"""From an `Evaluation` to the document that `verify --json` promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from kernelwright.core.errors import UsageError
from kernelwright.core.measurement import Measurement
from kernelwright.core.problem import Mode
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level


def verify(
    path: Path,
    source: str,
    inputs: str | None,
    mode: Mode | None,
    target_text: str,
    level: str,
    on_progress: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Evaluate the kernel in `path` on the problem in `source`."""
    from kernelwright.evaluate import evaluate
    from kernelwright.languages.kernel_file import read_kernel
    from kernelwright.problems import load_problem

    target = Target.parse(target_text)
    if not path.exists():
        raise UsageError(
            f"no kernel file '{path}'; give a .cpp, .cu, .py or .json file or a published folder"
        )
    on_progress({"stage": "problem", "message": f"loading {source}"})
    problem = load_problem(source, inputs, mode=mode)
    kernel = read_kernel(path, problem, target)
    said = f"judging {path.name} at level {level}"
    on_progress({"stage": "gates", "message": said})
    found = evaluate(
        problem,
        kernel,
        target,
        level=cast(Level, level),
        on_stage=lambda what: on_progress({"stage": "gates", "message": f"{said}: {what}"}),
    )
    return document(found)


def document(evaluation: Evaluation) -> dict[str, Any]:
    """What `verify --json` prints."""
    verdict = evaluation.verdict
    if verdict is None:
        reason = {"gate": "build", "kind": "build", "message": evaluation.build.log or "it did not build"}
        return {"verdict": "rejected", "gates": [], "reason": reason, "not_checked": [], "speedup": None}
    return {
        "verdict": verdict.verdict,
        "level": verdict.level,
        "contract_version": verdict.contract_version,
        "gates": [gate.model_dump(mode="json") for gate in verdict.gates],
        "reason": verdict.reason and verdict.reason.model_dump(mode="json"),
        "not_checked": list(verdict.not_checked),
        "speedup": speedups(evaluation.measurement),
        **_times(evaluation.measurement),
    }


def _times(measurement: Measurement | None) -> dict[str, Any]:
    """Times of the kernel and its baselines, intervals and status; empty where nothing was timed."""
    if measurement is None:
        return {}
    strongest = measurement.strongest
    intervals = {speedup.baseline: list(speedup.ci) for speedup in measurement.speedups}
    return {
        "latency_us": measurement.kernel.latency_us,
        "ci": list(measurement.kernel.ci),
        "baselines": {
            one.name: {"latency_us": one.latency_us, "ci": list(one.ci)} for one in measurement.baselines
        },
        "speedup_ci": {**intervals, "strongest": list(strongest.ci)} if strongest else None,
        "strongest": strongest and strongest.baseline,
        "status": measurement.status,
        "status_reason": measurement.status_reason,
        "floor_share": measurement.floor_share,
    }


def speedups(measurement: Measurement | None) -> dict[str, float] | None:
    """Ratio over each baseline, and over the strongest; None where nothing was timed."""
    if measurement is None or measurement.strongest is None:
        return None
    ratios = {speedup.baseline: speedup.ratio for speedup in measurement.speedups}
    return {**ratios, "strongest": measurement.strongest.ratio}
