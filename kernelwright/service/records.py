"""`Records`: verdicts of the service in the store of trials, under their tickets.

A verdict is a trial whose id is its ticket, in a run that stands for one start of the service on one
problem, so `kernelwright show TICKET` and `report` know it. Adding is idempotent by id.
"""

from __future__ import annotations

from collections import Counter

from kernelwright.core.errors import UsageError
from kernelwright.core.problem import Problem
from kernelwright.core.process import this_process
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Run, Trial
from kernelwright.service.answer import HeldOut
from kernelwright.service.request import Entry
from kernelwright.store import open_store

STRATEGY, HELD_OUT = "verdict service", "verdict service, held out"


class Records:
    """The service's part of a store."""

    def __init__(self, url: str | None, target: Target) -> None:
        """StoreError, UsageError as `open_store`."""
        self._store = open_store(url)
        self._target = target
        self._runs: dict[tuple[str, str], Run] = {}

    def evaluation(self, ticket: str) -> Evaluation | None:
        """The verdict on a ticket, if there is one."""
        try:
            found = self._store.trial(ticket)
        except UsageError:
            return None
        return found.evaluation if found.id == ticket else None

    def keep(self, entry: Entry, problem: Problem, evaluation: Evaluation) -> bool:
        """Keep a verdict; False if there is one under this ticket. On disk when this returns."""
        run = self._run(problem, HELD_OUT if entry.held_out else STRATEGY)
        return self._store.add_trial(
            Trial(id=entry.ticket, run=run.id, kernel=entry.kernel, evaluation=evaluation)
        )

    def held_out(self) -> HeldOut:
        """Held-out judgements of all starts of a service on this target that the store knows."""
        runs = [
            run
            for run in self._store.runs()
            if run.strategy == HELD_OUT and run.target.name == self._target.name
        ]
        verdicts = [trial.evaluation.verdict for run in runs for trial in self._store.trials(run=run.id)]
        reasons = [
            verdict.reason for verdict in verdicts if verdict is not None and verdict.reason is not None
        ]
        kinds = Counter(reason.kind for reason in reasons)
        return HeldOut(judged=len(verdicts), rejected=len(reasons), kinds=dict(sorted(kinds.items())))

    def close(self) -> None:
        """Say that the runs are done, and let go of the store."""
        for run in self._runs.values():
            self._store.update_run(run.model_copy(update={"state": "done"}))
        self._runs.clear()
        self._store.close()

    def _run(self, problem: Problem, strategy: str) -> Run:
        key = (problem.hash, strategy)
        if key not in self._runs:
            run = Run(
                problem=problem, target=self._target, budget_s=0.0, strategy=strategy, process=this_process()
            )
            self._store.add_run(run)
            self._runs[key] = run
        return self._runs[key]
