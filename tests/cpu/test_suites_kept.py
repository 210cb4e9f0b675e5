"""Judgements are kept, and a second round finds the first: never one of the same day or another kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_writer import run, trial

from kernelwright.core.trial import Trial
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.store import TrialStore, open_store
from kernelwright.suites.judgement import Judgement
from kernelwright.suites.kept import APART_S, STRATEGY, earlier_round, keep

PASS = [GateResult(name="numeric", status="pass", kind="precision")]
FAIL = [GateResult(name="numeric", status="fail", kind="precision")]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(f"jsonl://{tmp_path}/trials.jsonl") as opened:
        yield opened


def judged(latency: float = 2.0, level: Any = "paranoid", gates: Any = PASS, contract: int = 2) -> Trial:
    """A trial of one kernel with this verdict, made now."""
    made = trial(run(), latency)
    verdict = Verdict.of(gates, level, contract, [])
    return made.model_copy(update={"evaluation": made.evaluation.model_copy(update={"verdict": verdict})})


def kept_before(store: TrialStore, made: Trial, seconds: float) -> Trial:
    """The same trial under an id of its own, in the store since `seconds` before."""
    old = made.model_copy(update={"id": f"t-{seconds:.0f}", "created": made.created - seconds})
    store.add_run(run().model_copy(update={"id": old.run}))
    store.add_trial(old)
    return old


def judgement(made: Trial) -> Judgement:
    return Judgement(run().problem, made.kernel, made.evaluation)


def test_what_was_judged_is_in_the_store_under_its_id(store: TrialStore) -> None:
    (kept,) = keep(store, [judgement(judged(level="full"))])
    assert kept.trial is not None
    found = store.trial(kept.trial)
    assert (found.evaluation, store.run(found.run).strategy) == (kept.evaluation, STRATEGY)
    assert kept.not_checked == ()


def test_a_first_round_says_when_the_second_one_can_be(store: TrialStore) -> None:
    (kept,) = keep(store, [judgement(judged())])
    (said,) = kept.not_checked
    assert said.startswith("a second round: judge it again at paranoid from 20") and said.endswith("UTC on")


def test_a_second_round_that_agrees_leaves_nothing_open(store: TrialStore) -> None:
    made = judged()
    kept_before(store, made, APART_S + 60)
    (kept,) = keep(store, [judgement(made)])
    assert kept.not_checked == ()


def test_two_rounds_that_differ_are_told(store: TrialStore) -> None:
    made = judged()
    assert made.evaluation.measurement is not None
    other = made.evaluation.measurement.model_copy(update={"status": "behind"})
    first = kept_before(
        store,
        made.model_copy(update={"evaluation": made.evaluation.model_copy(update={"measurement": other})}),
        APART_S + 60,
    )
    (kept,) = keep(store, [judgement(made)])
    (said,) = kept.not_checked
    assert first.id in said and "was behind" in said


@pytest.mark.parametrize("level", ["quick", "full"])
def test_only_a_publication_asks_for_two_rounds(store: TrialStore, level: str) -> None:
    (kept,) = keep(store, [judgement(judged(level=level))])
    assert kept.second_round == ()
    (rejected,) = keep(store, [judgement(judged(gates=FAIL))])
    assert rejected.second_round == ()


@pytest.mark.parametrize(
    "other",
    [
        {"seconds": APART_S - 60},
        {"level": "full"},
        {"gates": FAIL},
        {"contract": 1},
        {"kernel": "another"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_is_no_first_round(store: TrialStore, other: dict[str, Any]) -> None:
    seconds = other.pop("seconds", APART_S + 60)
    name = other.pop("kernel", None)
    first, second = judged(**other), judged()
    if name is not None:
        evaluation = first.evaluation.model_copy(update={"kernel": name})
        first = first.model_copy(update={"evaluation": evaluation})
    kept_before(store, first.model_copy(update={"created": second.created}), seconds)
    assert earlier_round(store, second) is None


def test_the_last_of_several_first_rounds_counts(store: TrialStore) -> None:
    made = judged()
    kept_before(store, made, 3 * APART_S)
    last = kept_before(store, made, 2 * APART_S)
    assert earlier_round(store, made) == last


def test_judgements_of_a_definition_are_kept_one_by_one(store: TrialStore) -> None:
    ones = keep(store, [replace(judgement(judged(level="full"))) for _ in range(3)])
    assert len({one.trial for one in ones}) == 3 == len(list(store.trials()))
