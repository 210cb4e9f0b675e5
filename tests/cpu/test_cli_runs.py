"""Runs and trials on the command line: what `verify` made has its verdict; a run is no trial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_input_run import call, refused
from store_writer import run, trial

from kernelwright.store import open_store
from kernelwright.suites.judgement import Judgement
from kernelwright.suites.kept import keep


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("KERNELWRIGHT_DB", raising=False)


@pytest.mark.parametrize(("latency", "verdict"), [(2.0, "accepted"), (None, "rejected")])
def test_a_run_of_verify_is_listed_with_kernel_and_verdict(latency: float | None, verdict: str) -> None:
    made = trial(run(), latency)
    with open_store() as store:
        keep(store, [Judgement(run().problem, made.kernel, made.evaluation)])
        store.add_run(run("searched"))
    listed = {one["strategy"]: one for one in json.loads(call("report", "--json").out)["runs"]}
    judged = listed["verify"]["judged"]
    assert (judged["name"], judged["verdict"], judged["level"]) == ("k", verdict, "quick")
    assert (judged["latency_us"], listed["verify"]["trials"]) == (latency, 1)
    assert (listed["random"]["judged"], listed["random"]["trials"]) == (None, None)
    text = " ".join(call("report").out.split())
    assert f"verify k done 1 {latency or '-'}" in text and verdict in text
    alone = call("report", listed["verify"]["run"])
    assert alone.code == 0 and verdict in alone.out and "kernel of the report" not in alone.out


def test_a_run_is_no_trial_and_a_trial_is_no_run() -> None:
    refused(call("show", "r-1"), 2, "'r-1' is a run; see it with: kernelwright report r-1")
    refused(call("report", "t-1"), 2, "'t-1' is a trial; see it with: kernelwright show t-1")
