"""Copy runs and trials from one store into another. Repeating it adds nothing twice."""

from __future__ import annotations

from kernelwright.core.trial import Run
from kernelwright.store.base import TrialStore


def transfer(source: TrialStore, sink: TrialStore) -> dict[str, int]:
    """Add what `sink` lacks; how many `runs` and `trials` were added.

    A run that `sink` knows as running and that has ended since is brought up to date.
    """
    runs = sum([_add_run(run, sink) for run in source.runs()])
    trials = sum(sink.add_trial(trial) for trial in source.trials())
    return {"runs": runs, "trials": trials}


def _add_run(run: Run, sink: TrialStore) -> bool:
    if sink.add_run(run):
        return True
    if run.state != "running" and sink.run(run.id).state == "running":
        sink.update_run(run)
    return False
