"""What a log of a long run says: nothing that begins is lost, no wait is silent, no factor is bare."""

from __future__ import annotations

import threading
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from kernelwright.cli import progress
from kernelwright.cli.offer import offered, over_strongest
from kernelwright.cli.progress import QUIET_S, Progress, _line
from kernelwright.core.measurement import Status

BEST = {
    "stage": "trial", "done": 20, "best_us": 1787.2, "speedup": 4.15, "speedup_ci": [3.9, 4.4],
    "over": "compile", "over_us": 7416.0,
}  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.mark.parametrize("every_s", [0.1, 3.0, 58.0, 185.0])
def test_no_wait_is_silent_and_nothing_that_begins_is_lost(
    every_s: float, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    shown, lines, said = Progress(), [], [0.0]
    begun = 0
    while clock[0] < 400.0:
        if clock[0] >= begun * every_s:
            begun += 1
            shown.update({"stage": "final", "message": f"gate {begun}."})
        if round(clock[0] / 0.1) % round(progress._GLANCE_S / 0.1) == 0:
            shown.remind()
        if found := capsys.readouterr().err.splitlines():
            lines += found
            said.append(clock[0])
        clock[0] = round(clock[0] + 0.1, 1)
    assert max(after - before for before, after in pairwise(said)) <= QUIET_S
    assert len(lines) <= 400 / progress._LOG_EVERY_S + 1
    if every_s >= 10:
        assert all(any(f"gate {number}." in line for line in lines) for number in range(1, begun + 1))
        assert any("(for 15 s)" in line for line in lines)


def test_a_new_stage_is_said_when_it_begins(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress()
    for stage in ("problem", "baseline", "final"):
        shown.update({"stage": stage})
        assert stage in capsys.readouterr().err


def test_a_search_of_fast_trials_is_no_flood(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress()
    for number in range(200):
        clock[0] = number * 0.5
        shown.update({"stage": ("judge", "trial")[number % 2], "done": number})
    assert len(capsys.readouterr().err.splitlines()) <= 100 / progress._LOG_EVERY_S + 2


def test_the_watch_ends_with_the_work() -> None:
    with Progress() as shown:
        shown.update({"stage": "problem"})
        assert any(thread.name == "progress" for thread in threading.enumerate())
    assert not any(thread.name == "progress" for thread in threading.enumerate())


@pytest.mark.parametrize("status", get_args(Status))
def test_a_factor_so_far_says_over_what_and_is_an_interval(status: str) -> None:
    line = _line({**BEST, "status": status}, 30.0, 0.0)
    assert "best 1,787 us" in line and "compile (7,416 us) so far" in line
    assert "4.15x" not in line
    assert ("3.90x to 4.40x over" in line) == (status not in ("unresolved", "degenerate"))
    assert (status in line) == (status in ("unresolved", "degenerate"))


def test_where_nothing_was_beside_it_there_is_no_factor() -> None:
    assert _line({"stage": "trial", "done": 1, "best_us": 5.0}, 1.0, 0.0).endswith("best 5 us")


@pytest.mark.parametrize("level", ["quick", "full"])
@pytest.mark.parametrize("status", get_args(Status))
def test_only_what_was_shown_is_offered(status: str, level: str) -> None:
    best: dict[str, Any] = {
        "trial": "t-1", "status": status, "level": level, "strongest": "compile",
        "speedup": {"strongest": 0.95}, "speedup_ci": {"strongest": [0.9, 1.05]},
    }  # fmt: skip
    label, said = offered(best)
    assert "t-1" in said
    assert ("load(" in said) == (level == "full" and status in ("won", "level", "at_floor"))
    assert (said == 'kernelwright.load("t-1", module)') == (level == "full" and status == "won")
    factor = over_strongest(best)
    assert "0.90x to 1.05x" in factor and "(compile)" in factor
    assert ("0.95x" in factor) == (status not in ("unresolved", "degenerate"))
    assert label
