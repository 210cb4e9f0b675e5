"""Documents about stored runs."""

from __future__ import annotations

from typing import Any

from kernelwright.core.process import is_gone
from kernelwright.core.trial import Run, Trial
from kernelwright.store.base import TrialStore
from kernelwright.suites.kept import STRATEGY


def run_list(store: TrialStore, problem: str | None, limit: int) -> dict[str, Any]:
    """Runs, newest first, each with what its report says."""
    runs = [run for run in store.runs() if problem is None or _matches(run, problem)]
    runs.sort(key=lambda run: run.created, reverse=True)
    return {"runs": [{**_summary(run), "judged": _judged(store, run)} for run in runs[:limit]]}


def run_document(store: TrialStore, run_id: str) -> dict[str, Any]:
    """One run: its report and a row per trial."""
    run = store.run(run_id)
    return {
        **_summary(run),
        "judged": _judged(store, run),
        "report": run.report,
        "rows": [_row(trial) for trial in store.trials(run=run.id)],
    }


def _matches(run: Run, problem: str) -> bool:
    return run.problem.name == problem or run.problem.hash.startswith(problem)


def _summary(run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "problem": {"name": run.problem.name, "hash": run.problem.hash},
        "target": run.target.name,
        "strategy": run.strategy,
        "state": "killed" if run.state == "running" and is_gone(run.process) else run.state,
        "budget_s": run.budget_s,
        "created": run.created,
        "trials": 1 if run.strategy == STRATEGY else (run.report or {}).get("trials"),
        "best": (run.report or {}).get("best"),
    }


def _judged(store: TrialStore, run: Run) -> dict[str, Any] | None:
    """The one judgement of a run that `verify` made; None for a search."""
    trials = store.trials(run=run.id) if run.strategy == STRATEGY else iter(())
    trial = next(trials, None)
    if trial is None:
        return None
    strongest = trial.evaluation.measurement and trial.evaluation.measurement.strongest
    return {
        "name": trial.kernel.name,
        **_row(trial),
        "speedup": strongest and strongest.ratio,
        "status": trial.evaluation.measurement and trial.evaluation.measurement.status,
    }


def _row(trial: Trial) -> dict[str, Any]:
    evaluation = trial.evaluation
    reason = evaluation.verdict.reason if evaluation.verdict else None
    return {
        "trial": trial.id,
        "kernel": trial.kernel.hash,
        "build": evaluation.build.status,
        "verdict": evaluation.verdict and evaluation.verdict.verdict,
        "level": evaluation.verdict and evaluation.verdict.level,
        "reason": reason and reason.model_dump(mode="json"),
        "latency_us": evaluation.measurement and evaluation.measurement.kernel.latency_us,
        "parameters": trial.kernel.proposer.parameters,
    }
