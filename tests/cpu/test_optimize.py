"""The whole path on a small problem: load, rank, search, judge, report, put back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import kernelwright as kw
from kernelwright.core.errors import ProblemError, UsageError
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.measure.baselines import BASELINES
from kernelwright.measure.stopping import RULES, Rule
from kernelwright.optimize import Result, optimize
from kernelwright.store.jsonl import JsonLinesStore

PROBLEM = Path(__file__).parents[1] / "cheats" / "problem.py"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Result, Path, list[dict[str, Any]]]]:
    ledger = tmp_path_factory.mktemp("store") / "trials.jsonl"
    events: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch, JsonLinesStore.open(ledger) as store:
        patch.setitem(BASELINES, "cpu", ("eager", "channels_last"))
        patch.setitem(
            RULES, "full", Rule("full", min_rounds=6, max_rounds=12, max_seconds=1.0, half_width=0.1)
        )
        found = optimize(str(PROBLEM), budget_s=3.0, seed=1, store=store, on_progress=events.append)
    yield found, ledger, events


def test_report_has_what_is_promised(result: tuple[Result, Path, list[dict[str, Any]]]) -> None:
    report = json.loads(json.dumps(result[0].report))
    assert report["problem"]["hash"] == result[0].problem.hash
    assert report["trials"] >= 1
    assert report["seconds"] >= report["search_seconds"]
    assert report["baselines"]["eager"]["latency_us"] > 0
    assert "four dimensions" in report["baselines"]["channels_last"]["reason"]
    best = report["best"]
    assert best is not None, report["notes"]
    assert best["status"] in {"won", "level", "at_floor", "behind", "unresolved"}
    assert best["speedup"]["strongest"] == pytest.approx(best["speedup"]["eager"])
    low, high = best["speedup_ci"]["strongest"]
    assert low <= best["speedup"]["strongest"] <= high
    assert (best["precision"], best["column"], best["custom_share"]) == ("kept", "strict", 1.0)
    assert best["level"] == "full"


def test_every_reported_trial_is_in_the_store(result: tuple[Result, Path, list[dict[str, Any]]]) -> None:
    found, ledger, events = result
    with JsonLinesStore.open(ledger) as store:
        run = store.run(found.run_id)
        trials = list(store.trials(run=found.run_id))
    assert run.state == "done"
    assert run.report == found.report
    assert len(trials) == found.report["trials"] + 1, "the final judgement is a trial of its own"
    assert [trial.id for trial in trials if trial.id == found.report["best"]["trial"]]
    assert sum(event["stage"] == "trial" for event in events) == found.report["trials"]


def test_the_module_computes_what_the_original_does(
    result: tuple[Result, Path, list[dict[str, Any]]],
) -> None:
    module = result[0].module
    x = torch.randn(96, 250)
    with torch.no_grad():
        torch.testing.assert_close(module(x), module.original(x))
        assert module.served == 1, "the kernel answers from the first call on"
        torch.testing.assert_close(module(x[:5]), module.original(x[:5]))
        torch.testing.assert_close(module(x.double()), module.original(x.double()))
    assert module.served == 2, module.passed_on


def test_a_kept_trial_is_loaded_into_its_module_or_another(
    result: tuple[Result, Path, list[dict[str, Any]]],
) -> None:
    found, ledger, _ = result
    x = torch.randn(96, 250)
    mine = type(found.module.original)(250)
    with JsonLinesStore.open(ledger) as store, torch.no_grad():
        best = found.report["best"]["trial"]
        for module in (kw.load(best, store=store), kw.load(best[:8], mine, store=store)):
            torch.testing.assert_close(module(x), module.original(x))
            assert module.served == 1, module.passed_on
        assert module.original is mine
        for other in (torch.nn.LayerNorm(250), torch.relu):
            with pytest.raises(UsageError, match="optimize this one"):
                kw.load(best, other, store=store)
        with pytest.raises(UsageError, match="no trial 't-nowhere'"):
            kw.load("t-nowhere", store=store)


def test_a_kernel_that_was_refused_is_not_loaded(
    result: tuple[Result, Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    found, ledger, _ = result
    with JsonLinesStore.open(ledger) as store:
        run, trial = store.run(found.run_id), next(iter(store.trials(run=found.run_id)))
    gate = GateResult(name="numeric", status="fail", kind="precision", message="far off")
    verdict = Verdict.of([gate], "quick", run.problem.contract_version, [])
    refused = trial.model_copy(
        update={"id": "t-refused", "evaluation": trial.evaluation.model_copy(update={"verdict": verdict})}
    )
    with JsonLinesStore.open(tmp_path / "refused.jsonl") as store:
        store.add_run(run)
        store.add_trial(refused)
        with pytest.raises(UsageError, match="not accepted: far off"):
            kw.load("t-refused", store=store)


def test_a_result_says_in_one_line_what_was_found(result: tuple[Result, Path, list[dict[str, Any]]]) -> None:
    best = result[0].report["best"]
    assert str(result[0]).startswith(f"problem on cpu: {best['status']}, ")
    assert "report" not in repr(result[0]) and "\n" not in str(result[0])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"source": "nowhere.py"}, ProblemError, "nowhere.py"),
        ({"source": str(PROBLEM), "target": "tpu"}, UsageError, "allowed: cpu"),
        ({"source": str(PROBLEM), "strategy": "annealing"}, UsageError, "evolution"),
        ({"source": str(PROBLEM), "budget_s": -1.0}, UsageError, "0 or more"),
    ],
)
def test_mistakes_are_one_line(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        optimize(**arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
