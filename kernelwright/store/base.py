"""`TrialStore`: what every store of trials promises.

A trial whose `add_trial` has returned is on disk and survives the death of the process and of the
machine. Adding is idempotent by id, so an import can be repeated and a doubtful write tried again.
Many processes may write at once. What cannot be read or written is a `StoreError` of one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TypeVar

from kernelwright.core.errors import UsageError
from kernelwright.core.trial import Run, Trial

Self = TypeVar("Self", bound="TrialStore")

SCHEMA_VERSION = 1
"""Version of what a store keeps; a store with a greater one is refused."""


class TrialStore(ABC):
    """Runs and trials by id. Used as a context manager, it closes itself."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, as messages name it."""

    @abstractmethod
    def add_run(self, run: Run) -> bool:
        """Keep a run; False if its id is there already (the old one stays)."""

    @abstractmethod
    def update_run(self, run: Run) -> None:
        """Replace the run that has this id."""

    @abstractmethod
    def add_trial(self, trial: Trial) -> bool:
        """Keep a trial; False if its id is there already. On disk when this returns."""

    @abstractmethod
    def run(self, id: str) -> Run:
        """The run with this id, or whose id alone begins so; UsageError if there is none or several."""

    @abstractmethod
    def trial(self, id: str) -> Trial:
        """The trial with this id, or whose id alone begins so; UsageError if there is none or several."""

    @abstractmethod
    def runs(self, problem: str | None = None) -> list[Run]:
        """Runs, oldest first; of one problem (its hash) if given."""

    @abstractmethod
    def trials(self, run: str | None = None, problem: str | None = None) -> Iterator[Trial]:
        """Trials, oldest first; of one run (its whole id) and one problem (its hash) if given."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections. Can be called again."""

    def best(self, problem: str, target: str | None = None) -> Trial | None:
        """The fastest accepted trial of a problem (its hash), on one kind of target (`cpu`) if given."""
        timed = [trial for trial in self.trials(problem=problem) if latency_us(trial) is not None]
        here = [trial for trial in timed if target in (None, trial.evaluation.target.name)]
        return min(here, key=lambda trial: latency_us(trial) or 0.0, default=None)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def latency_us(trial: Trial) -> float | None:
    """Median time of an accepted and timed trial, else None."""
    evaluation = trial.evaluation
    accepted = evaluation.verdict is not None and evaluation.verdict.verdict == "accepted"
    return evaluation.measurement.kernel.latency_us if accepted and evaluation.measurement else None


def outcome(trial: Trial) -> str:
    """One word for what became of a trial: `failed` to build, `rejected`, `untimed`, or its status."""
    evaluation = trial.evaluation
    if evaluation.verdict is None:
        return "failed" if evaluation.build.status == "failed" else "unjudged"
    if evaluation.verdict.verdict == "rejected":
        return "rejected"
    return evaluation.measurement.status if evaluation.measurement else "untimed"


def only(kind: str, id: str, found: list[str], place: str) -> str:
    """The one id of `found` that `id` means; UsageError if there is none or several."""
    if id in found or len(found) == 1:
        return id if id in found else found[0]
    if found:
        raise UsageError(
            f"'{id}' is the beginning of several {kind}s: {', '.join(sorted(found)[:4])}; write more of it"
        )
    raise UsageError(f"no {kind} '{id}' in {place}; `kernelwright report` lists what there is")
