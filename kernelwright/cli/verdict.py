"""From an `Evaluation`, or several, to the document that `verify --json` promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernelwright.core.measurement import Measurement
from kernelwright.core.trial import Evaluation

if TYPE_CHECKING:
    from kernelwright.suites.judgement import Judgement


def summary(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """What `verify --json` prints: the first rejection, else the first judgement.

    For a definition with the workload, and with every workload's document under `workloads`.
    """
    documents = [
        {**found, "not_checked": [*found["not_checked"], *one.not_checked], "trial": one.trial}
        for one, found in ((one, document(one.evaluation)) for one in judgements)
    ]
    shown = next((found for found in documents if found["verdict"] == "rejected"), documents[0])
    if judgements[0].workload is None:
        return shown
    named = [{"workload": one.workload, **found} for one, found in zip(judgements, documents, strict=True)]
    return {**named[documents.index(shown)], "workloads": named}


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
