"""Both stores keep the same promises: what goes in comes out, once, by id, prefix, run and problem."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_writer import TARGET, run, trial

from kernelwright.core.errors import UsageError
from kernelwright.core.measurement import Measurement, Timing
from kernelwright.core.trial import Trial
from kernelwright.core.verdict import GateResult
from kernelwright.store import TrialStore, open_store
from kernelwright.store.base import outcome
from kernelwright.store.document import dumps, from_document, to_document
from kernelwright.store.transfer import transfer

KINDS = ["sqlite:///{}/nested/trials.db", "jsonl://{}/nested/trials.jsonl"]


@pytest.fixture(params=KINDS, ids=["sqlite", "jsonl"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param).format(tmp_path)


def test_an_empty_store_is_empty(url: str) -> None:
    with open_store(url) as store:
        assert (store.runs(), list(store.trials()), store.best("x")) == ([], [], None)


def test_what_goes_in_comes_out_also_after_opening_again(url: str) -> None:
    mine = run()
    trials = [trial(mine, latency) for latency in (3.0, 1.5, None)]
    with open_store(url) as store:
        assert store.add_run(mine)
        assert all(store.add_trial(made) for made in trials)
    with open_store(url) as store:
        assert store.runs() == [mine]
        assert list(store.trials()) == trials
        assert [store.trial(made.id) for made in trials] == trials


def test_adding_again_changes_nothing(url: str) -> None:
    mine = run()
    made = trial(mine)
    with open_store(url) as store, open_store(url) as other:
        assert (store.add_run(mine), other.add_run(mine)) == (True, False)
        assert (store.add_trial(made), other.add_trial(made), store.add_trial(made)) == (True, False, False)
        assert list(other.trials()) == [made]


def test_an_updated_run_replaces_the_old_one(url: str) -> None:
    mine = run()
    ended = mine.model_copy(update={"state": "done", "report": {"trials": 3}})
    with open_store(url) as store:
        store.add_run(mine)
        store.update_run(ended)
        assert store.runs() == [ended]
        with pytest.raises(UsageError, match="no run"):
            store.update_run(run())


def test_filters_and_the_best(url: str) -> None:
    first, second = run("p"), run("q")
    slow, fast, wrong = trial(first, 5.0), trial(first, 2.0), trial(first, None)
    other = trial(second, 0.1)
    with open_store(url) as store:
        for made in (slow, fast, wrong, other):
            store.add_trial(made)
        store.add_run(first)
        store.add_run(second)
        assert [made.id for made in store.trials(run=first.id)] == [slow.id, fast.id, wrong.id]
        assert [made.id for made in store.trials(problem=second.problem.hash)] == [other.id]
        assert store.runs(problem=second.problem.hash) == [second]
        assert store.best(first.problem.hash) == fast
        assert store.best(first.problem.hash, target="cpu") == fast
        assert store.best(first.problem.hash, target="cuda") is None
    assert [outcome(made) for made in (slow, wrong)] == ["won", "rejected"]


def test_a_beginning_names_one_or_says_what_is_wrong(url: str) -> None:
    mine = run()
    named = [trial(mine).model_copy(update={"id": id}) for id in ("t-aab", "t-abc", "t-ab")]
    with open_store(url) as store:
        store.add_run(mine)
        for made in named:
            store.add_trial(made)
        assert store.trial("t-aa") == named[0]
        assert store.trial("t-ab") == named[2]  # an id is itself, even where another begins with it
        assert store.run(mine.id[:8]) == mine
        with pytest.raises(UsageError, match="several"):
            store.trial("t-a")
        for unknown in ("t-b", "%", "_", "t%"):
            with pytest.raises(UsageError, match="no trial"):
                store.trial(unknown)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
TRIALS = st.builds(
    lambda text, numbers, evidence, message: _rich(text, numbers, evidence, message),
    st.text(),
    st.lists(st.floats(), min_size=1, max_size=4),
    st.dictionaries(st.text(), JSON, max_size=3),
    st.text(),
)


def _rich(text: str, numbers: list[float], evidence: dict[str, Any], message: str) -> Trial:
    base = trial(run(), text=text)
    gate = GateResult(name="numeric", status="pass", kind="precision", message=message, evidence=evidence)
    timing = Timing(
        name="kernel", latency_us=numbers[0], ci=(numbers[0], numbers[-1]), samples_us=(tuple(numbers),)
    )
    evaluation = base.evaluation
    assert evaluation.verdict is not None
    return base.model_copy(
        update={
            "evaluation": evaluation.model_copy(
                update={
                    "verdict": evaluation.verdict.model_copy(update={"gates": (gate,)}),
                    "measurement": Measurement(clock="events", kernel=timing, environment=evidence),
                }
            )
        }
    )


@given(TRIALS)
def test_any_trial_survives_a_document(made: Trial) -> None:
    text = dumps(to_document(made))
    assert "\n" not in text
    back = from_document(Trial, json.loads(text), "here")
    assert to_document(back) == to_document(made)
    assert (back.evaluation.measurement is not None) and back.evaluation.target == TARGET


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(TRIALS, min_size=1, max_size=4))
def test_a_round_trip_through_both_stores_loses_nothing(tmp_path: Path, made: list[Trial]) -> None:
    first, second, third = (
        open_store(kind.format(tmp_path / str(abs(hash(made[0].id))) / side))
        for kind, side in zip([*KINDS, KINDS[0]], "abc", strict=True)
    )
    with first, second, third:
        for one in made:
            first.add_trial(one)
        for source, sink in ((first, second), (second, third)):
            assert transfer(source, sink) == {"runs": 0, "trials": len(made)}
            assert transfer(source, sink) == {"runs": 0, "trials": 0}
        assert documents(third) == documents(first) == sorted(dumps(to_document(one)) for one in made)


def documents(store: TrialStore) -> list[str]:
    return sorted(dumps(to_document(made)) for made in store.trials())


def test_a_transfer_brings_a_run_up_to_date_that_has_ended(tmp_path: Path) -> None:
    mine = run()
    with open_store(KINDS[0].format(tmp_path)) as source, open_store(KINDS[1].format(tmp_path)) as sink:
        source.add_run(mine)
        assert transfer(source, sink) == {"runs": 1, "trials": 0}
        source.update_run(mine.model_copy(update={"state": "done"}))
        assert transfer(source, sink) == {"runs": 0, "trials": 0}
        assert sink.runs()[0].state == "done"


def test_without_sqlalchemy_there_is_the_ledger(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import importlib.util as u; found = u.find_spec\n"
        "import kernelwright.store.choose as c\n"
        "c.find_spec = lambda name: None if name == 'sqlalchemy' else found(name)\n"
        "from store_writer import run; store = c.open_store(); store.add_run(run()); print(store.place)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": ":".join(sys.path), "KERNELWRIGHT_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.strip() == str(tmp_path / "trials.jsonl")
    assert (tmp_path / "trials.jsonl").read_text().count("\n") == 1
