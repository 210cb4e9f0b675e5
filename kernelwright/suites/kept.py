"""Judgements kept as trials, and the second round that a publication asks for.

A judgement at `paranoid` is one look on one day: what a machine did to it (its load, its neighbours, pages
that happened to lie well) is shared by all processes of that day. So an accepted kernel is judged again, at
least half a day later, and both rounds stand side by side. The first one is found in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from kernelwright.core.measurement import METHOD_VERSION
from kernelwright.core.process import this_process
from kernelwright.core.trial import Evaluation, Run, Trial
from kernelwright.store.base import TrialStore
from kernelwright.suites.judgement import Judgement

STRATEGY = "verify"
"""Of runs that hold one judgement each."""
APART_S = 12 * 3600.0
"""Seconds between two rounds, at least."""


def keep(store: TrialStore, judgements: Sequence[Judgement]) -> list[Judgement]:
    """The same judgements, each with its trial in `store` and the round before it, if there was one.

    On disk when this returns. StoreError if it cannot be.
    """
    return [_kept(store, one) for one in judgements]


def _kept(store: TrialStore, judgement: Judgement) -> Judgement:
    run = Run(
        problem=judgement.problem, target=judgement.evaluation.target, budget_s=0.0, strategy=STRATEGY,
        state="done", process=this_process(),
    )  # fmt: skip
    trial = Trial(run=run.id, kernel=judgement.kernel, evaluation=judgement.evaluation)
    before = earlier_round(store, trial)
    store.add_run(run)
    store.add_trial(trial)
    return replace(judgement, trial=trial.id, second_round=_second_round(trial, before))


def earlier_round(store: TrialStore, trial: Trial) -> Trial | None:
    """The last trial that is a first round to this one: the same kernel accepted at `paranoid`, by the same
    contract and method, on the same kind of device, half a day before or more."""
    found = [
        one
        for one in store.trials(problem=trial.evaluation.problem)
        if _form(one.evaluation) == _form(trial.evaluation) and trial.created - one.created >= APART_S
    ]
    accepted = [one for one in found if _is_accepted(one.evaluation)]
    return max(accepted, key=lambda one: one.created, default=None)


def _second_round(trial: Trial, before: Trial | None) -> tuple[str, ...]:
    """What is still open of two rounds; nothing below `paranoid`, or where the first was rejected."""
    verdict = trial.evaluation.verdict
    if verdict is None or verdict.level != "paranoid" or not _is_accepted(trial.evaluation):
        return ()
    if before is None:
        when = datetime.fromtimestamp(trial.created + APART_S, timezone.utc)
        return (f"a second round: judge it again at paranoid from {when:%Y-%m-%d %H:%M} UTC on",)
    first, second = _status(before.evaluation), _status(trial.evaluation)
    return (
        () if first == second else (f"that two rounds agree: {before.id} was {first}, this one is {second}",)
    )


def _form(evaluation: Evaluation) -> tuple[object, ...]:
    verdict, measurement = evaluation.verdict, evaluation.measurement
    return (
        evaluation.kernel,
        evaluation.target,
        verdict and (verdict.level, verdict.contract_version),
        measurement.method_version if measurement else METHOD_VERSION,
    )


def _is_accepted(evaluation: Evaluation) -> bool:
    return evaluation.verdict is not None and evaluation.verdict.verdict == "accepted"


def _status(evaluation: Evaluation) -> str:
    return evaluation.measurement.status if evaluation.measurement else "untimed"
