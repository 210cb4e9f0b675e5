"""`Campaign`: one run on one problem, step by step: propose, search, judge the best anew.

Keeps what the steps share (session, store, progress, notes). Every trial is in the store before anybody
hears of it. Kernels that earlier runs found for the same problem, target and contract are tried first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from kernelwright.core.errors import KernelwrightError, ProblemError, UsageError, first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.measurement import Measurement
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Run, Trial
from kernelwright.graph.capture import Captured
from kernelwright.languages import build
from kernelwright.propose.forms import open_forms
from kernelwright.propose.proposals import Proposals
from kernelwright.propose.space import Choice
from kernelwright.search.base import STRATEGIES, Budget
from kernelwright.search.loop import Outcome, Search, Tools, cost_of
from kernelwright.search.session import Session
from kernelwright.store.base import TrialStore
from kernelwright.verify.provenance import read_ahead

FINALISTS = 3
"""How many of the best are judged in full, one after the other, until one is accepted."""
REMEMBERED = 4
"""Best choices of earlier runs that are tried first."""


@dataclass
class Campaign:
    """One run. `notes` are sentences for the report."""

    session: Session
    store: TrialStore
    run: Run
    tell: Callable[[dict[str, Any]], None]
    opened: Callable[[], Proposals] | None = None
    """Waits for the proposals, where they are made meanwhile; ProblemError as from `open_proposals`."""
    notes: list[str] = field(default_factory=list)
    _so_far: dict[str, Any] = field(default_factory=dict)
    """Trials done and what is known of the best, as progress says it."""

    def search(self, budget: Budget) -> Outcome:
        """Search the proposals for the problem; an empty outcome, with a note, where there are none."""
        self.notes += weak(self.run.problem)
        try:
            with budget.paused():
                proposals = (self.opened or self._open)()
        except ProblemError as error:
            self.notes.append(f"no kernel can be proposed: {first_line(error)}")
            return Outcome(ended="nothing to propose")
        self.notes += _rewrites(proposals)
        tools = Tools(
            kernel=proposals.kernel,
            build=lambda kernel: read_ahead(build(kernel, self.run.target)),
            judge=self._quick,
            record=self.store.add_trial,
            report=self._progress,
            begins=self._begins,
        )
        strategy = STRATEGIES.get(self.run.strategy)(proposals.space, Random(self.run.seed))
        first = list(dict.fromkeys([*self._remembered(proposals), *proposals.starts]))
        search = Search(
            tools,
            strategy,
            budget,
            self.run.target,
            self.run.id,
            workers=_workers(self.run.target),
            first=first,
        )
        outcome = search.go()
        self.notes += (
            [f"the search ended early: {outcome.ended}"] if outcome.ended == "nothing left to try" else []
        )
        return outcome

    def _open(self) -> Proposals:
        return open_proposals(self.run.problem, self.run.target)

    def finish(self, outcome: Outcome) -> Trial | None:
        """The best kernel, judged in full; of an interrupted search the best as far as it was judged."""
        if outcome.interrupted:
            judged = (
                "the best kernel was judged quickly, not in full" if outcome.accepted else "no kernel yet"
            )
            self.notes.append(f"interrupted: {judged}")
            return outcome.accepted[0] if outcome.accepted else None
        if outcome.rejected and not outcome.accepted:
            ((why, count),) = outcome.rejected.most_common(1)
            self.notes.append(f"none of {outcome.trials} kernels was accepted; {count} failed by {why}")
        try:
            return self._first_confirmed(outcome.accepted[:FINALISTS])
        except KeyboardInterrupt:
            outcome.interrupted = True
            self.notes.append("interrupted in the final judgement: the best kernel was judged quickly only")
            return outcome.accepted[0]

    def _first_confirmed(self, candidates: Sequence[Trial]) -> Trial | None:
        for number, candidate in enumerate(candidates):
            trial = self._final(candidate, f"judging kernel {number + 1} in full, on fresh draws")
            if trial is not None:
                return trial
        return None

    def _final(self, candidate: Trial, said: str) -> Trial | None:
        self.tell({"stage": "final", "message": said})
        kernel, made = candidate.kernel, candidate.evaluation.build
        try:
            evaluation = self.session.final(
                kernel, made, lambda what: self.tell({"stage": "final", "message": f"{said}: {what}"})
            )
        except KernelwrightError as error:
            self.notes.append(f"the final judgement of {candidate.id} failed: {first_line(error)}")
            return None
        trial = Trial(
            run=self.run.id, kernel=candidate.kernel, evaluation=evaluation, parents=(candidate.id,)
        )
        self.store.add_trial(trial)
        if cost_of(evaluation) is not None:
            return trial
        reason = evaluation.verdict.reason if evaluation.verdict else None
        why = f"{reason.gate}: {reason.message}" if reason else "no verdict"
        self.notes.append(f"{candidate.id} passed the quick gates and failed in full: {why}")
        return None

    def _remembered(self, proposals: Proposals) -> list[Choice]:
        """Best choices of earlier runs on this problem and target, as far as the space still has them."""
        choices: list[Choice] = []
        for trial in _best_first(self.store.trials(problem=self.run.problem.hash), self.run.target):
            try:
                choice = proposals.space.complete(trial.kernel.proposer.parameters)
            except UsageError:
                continue
            if choice not in choices:
                choices.append(choice)
        return choices[:REMEMBERED]

    def _quick(self, kernel: Kernel, made: Build, incumbent: float | None) -> Evaluation:
        return self.session.quick(kernel, made, incumbent, self._begins)

    def _begins(self, what: str) -> None:
        self.tell({"stage": "judge", **self._so_far, "message": what})

    def _progress(self, done: int, trial: Trial, best: Trial | None) -> None:
        measurement = best.evaluation.measurement if best else None
        self._so_far = {"done": done, **(_compared(measurement) if measurement else {})}
        self.tell({"stage": "trial", **self._so_far, "message": _outcome_of(trial.evaluation)})


def _rewrites(proposals: Proposals) -> list[str]:
    """What was done to the graph that some or all of the kernels are of."""
    form = proposals.rewritten or proposals
    which = "all kernels are" if form is proposals else "some kernels are"
    return [f"{which} of a rewritten graph: {'; '.join(form.rules)}"] if form.rules else []


def weak(problem: Problem) -> list[str]:
    """A sentence for each reason why nothing that is found for a problem will count."""
    return [f"weak task, so that no speed-up will count: {reason}" for reason in problem.degenerate]


def open_proposals(problem: Problem, target: Target) -> Proposals:
    """Cut the reference's graph, and its rewritten form; ProblemError says why that cannot be done."""
    from kernelwright.problems.elsewhere import captured_at
    from kernelwright.problems.origin import origin_of

    return open_forms(problem, graph_of(problem), target, partial(captured_at, origin_of(problem)))


def graph_of(problem: Problem) -> Captured:
    """The reference traced on shapes alone; ProblemError says why that cannot be done."""
    from kernelwright.problems.origin import origin_of
    from kernelwright.problems.outline import outline
    from kernelwright.problems.trace import traced

    origin = origin_of(problem)
    captured, reason = traced(origin, outline(origin, problem.base.axes))
    if captured is None:
        raise ProblemError(reason)
    return captured


def _best_first(trials: Iterable[Trial], target: Target) -> list[Trial]:
    """Accepted trials of template kernels on this target, the cheapest first."""
    costs = [(cost_of(trial.evaluation), trial) for trial in trials if trial.evaluation.target == target]
    kept = [(cost, trial) for cost, trial in costs if cost is not None and trial.kernel.proposer.parameters]
    return [trial for _, trial in sorted(kept, key=lambda pair: pair[0])]


def _outcome_of(evaluation: Evaluation) -> str:
    reason = evaluation.verdict.reason if evaluation.verdict else None
    if reason is not None:
        return f"rejected by {reason.gate}: {reason.message}"
    measurement = evaluation.measurement
    return f"{measurement.kernel.latency_us:,.0f} us" if measurement else "accepted"


def _compared(measurement: Measurement) -> dict[str, Any]:
    """What progress says of the best kernel, all of one measurement: times of others are of other minutes."""
    strongest = measurement.strongest
    found: dict[str, Any] = {"best_us": measurement.kernel.latency_us, "status": measurement.status}
    if strongest is None:
        return found
    beside = next(timing for timing in measurement.baselines if timing.name == strongest.baseline)
    return found | {
        "speedup": strongest.ratio,
        "speedup_ci": list(strongest.ci),
        "over": strongest.baseline,
        "over_us": beside.latency_us,
    }


def _workers(target: Target) -> int:
    """Compilers side by side: as many as there are cores."""
    return target.threads or len(os.sched_getaffinity(0))
