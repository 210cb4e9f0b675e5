"""Ctrl-C, SIGTERM, SIGHUP and kill -9 at any moment: the right exit code, nothing lost, nothing left."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from bad_input_run import SMALL, Command, cache_of_these_tests, gone, leftovers

from kernelwright.cli.runs import run_list

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "small.py").write_text(SMALL)
    return tmp_path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cache_of_these_tests(tmp_path_factory.getbasetemp())


def optimize(place: Path, cache: Path, budget: int) -> Command:
    """With a seed, so that these runs find each other's kernels in the cache."""
    return Command(
        place, cache, "optimize", place / "small.py", "--budget", str(budget), "--seed", "1", "--json"
    )


@pytest.mark.parametrize(
    ("stage", "later_s", "number", "budget"),
    [
        ("problem", 0.5, signal.SIGINT, 60),
        ("baseline", 1.0, signal.SIGTERM, 60),
        ("trial", 0.3, signal.SIGHUP, 60),
        ("final", 1.5, signal.SIGINT, 1),
    ],
    ids=["loading", "baselines", "search", "final"],
)
def test_an_interrupt_keeps_what_was_found_and_leaves_nothing(
    stage: str, later_s: float, number: signal.Signals, budget: int, place: Path, cache: Path
) -> None:
    command = optimize(place, cache, budget)
    command.until(stage)
    time.sleep(later_s)
    below = command.descendants()
    done = command.end(number)
    assert done.code == 130, done
    assert "Traceback" not in done.err
    assert gone(below)
    assert leftovers(command.scratch, cache) == []
    with command.store() as store:
        states, trials = [run.state for run in store.runs()], {trial.id for trial in store.trials()}
    if stage in ("problem", "baseline"):
        assert (done.out, done.error, trials) == ("", "interrupted", set())
        assert states == ([] if stage == "problem" else ["interrupted"])
        return
    report = json.loads(done.out)
    assert states == ["interrupted"]
    assert report["interrupted"] and 1 <= report["trials"] == len(trials)
    assert any("interrupted" in note for note in report["notes"])
    assert report["best"] is None or report["best"]["trial"] in trials


def test_a_killed_run_loses_no_trial_and_later_runs_share_its_store_and_cache(
    place: Path, cache: Path
) -> None:
    killed = optimize(place, cache, 60)
    killed.until("trial")
    below = killed.descendants()
    assert below
    killed.process.kill()
    assert killed.end().code == -signal.SIGKILL
    assert gone(below)
    with killed.store() as store:
        kept = {trial.id for trial in store.trials()}
    assert kept
    two = [optimize(place, cache, 1) for _ in range(2)]
    for command in two:
        done = command.end(timeout_s=120)
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert report["best"] is not None, report["notes"]
    with killed.store() as store:
        after = {trial.id for trial in store.trials()}
        states = sorted(run["state"] for run in run_list(store, None, 20)["runs"])
    assert kept < after
    assert states == ["done", "done", "killed"]
