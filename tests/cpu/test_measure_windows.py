"""The clock of windows: how many calls are in one, who is held meanwhile, what is told of single calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kernelwright.execute.calls import NOTHING
from kernelwright.execute.reports import CallReport, CandidateFailed, Failure
from kernelwright.execute.windowed import Given
from kernelwright.measure.schedule import Round
from kernelwright.measure.windows import MOST_CALLS, SINGLES, WindowClock, WindowContents

NULL_US = 400.0


class Contents(WindowContents):
    """Remembers what it was told."""

    def __init__(self, most: int = 64) -> None:
        self._most, self.calls, self.told, self.closed = most, 1, [], []  # type: ignore[var-annotated]

    @property
    def most_calls(self) -> int:
        return self._most

    def begin(self, calls: int) -> None:
        self.calls = calls

    def parcel(self) -> Given:
        return Given(0, 1, "file-0", self.calls)

    def look(self, places: list[Any]) -> None: ...

    def close(self, subject: str) -> None:
        self.closed.append(subject)

    def taken(self, calls: int, times: dict[str, float]) -> None:
        self.told.append((calls, times))

    def copied(self, us: float) -> None: ...


class Bench:
    """A device on which each call of a subject takes what `call_us` says."""

    def __init__(self, call_us: dict[str, float]) -> None:
        self.call_us, self.held, self.seen = call_us, False, []  # type: ignore[var-annotated]
        self.fails: str | None = None

    @contextmanager
    def still(self) -> Iterator[None]:
        self.held = True
        yield
        self.held = False

    def window(self, subject: str, given: Given, look: Callable[[list[Any]], None]) -> CallReport:
        self.seen.append((subject, given.calls, self.held))
        if subject == self.fails:
            return CallReport(subject, failure=Failure("crash", "it died"))
        return CallReport(subject, NULL_US + self.call_us.get(subject, 0.0) * given.calls)


def clock(kernel_us: float, eager_us: float, most: int = 64) -> tuple[WindowClock, Bench, Contents]:
    bench, contents = Bench({"kernel": kernel_us, "eager": eager_us}), Contents(most)
    made = WindowClock(bench, contents)  # type: ignore[arg-type]
    made.warm(["kernel", "eager"], ["file-0"], 2)
    return made, bench, contents


@pytest.mark.parametrize("us", [5.0, 50.0, 400.0, 3000.0, 50_000.0])
def test_a_window_holds_so_many_calls_that_the_clock_is_a_twentieth(us: float) -> None:
    made, *_ = clock(us, 2 * us)
    calls = made.facts()["calls_in_a_window"]
    assert 1 <= calls <= MOST_CALLS
    assert calls == MOST_CALLS or us >= made.resolution().resolution_us
    assert calls == 1 or (calls - 1) * us < 1.3 * 20 * NULL_US, "no more calls than that takes"


def test_memory_bounds_the_calls_of_a_window() -> None:
    made, *_ = clock(100.0, 100.0, most=3)
    assert made.facts()["calls_in_a_window"] == 3


def test_times_are_of_one_call_and_each_block_has_some_rounds_of_single_ones() -> None:
    made, _, contents = clock(1000.0, 2000.0)
    calls = made.facts()["calls_in_a_window"]
    taken = made.block([Round(("kernel", "eager"), "file-0"), Round(("eager", "kernel"), "file-0")])
    assert [times["kernel"] for times in taken] == pytest.approx([1000.0 + NULL_US / calls] * 2)
    assert [each for each, _ in contents.told] == [1] * SINGLES + [calls, calls]
    assert contents.told[0][1]["eager"] == pytest.approx(2000.0 + NULL_US)


def test_the_candidate_is_held_while_others_are_timed_and_only_then() -> None:
    made, bench, _ = clock(1000.0, 2000.0)
    made.block([Round(("kernel", "eager"), "file-0")])
    made.resolution()
    assert {(subject, held) for subject, _, held in bench.seen} == {
        ("kernel", False), (NOTHING[0], False), (NOTHING[1], True), ("eager", True),
    }  # fmt: skip


def test_a_kernel_that_fails_ends_the_measurement_and_its_parcel_is_let_go() -> None:
    made, bench, contents = clock(1000.0, 2000.0)
    bench.fails = "kernel"
    with pytest.raises(CandidateFailed, match="it died"):
        made.block([Round(("kernel",), "file-0")])
    assert contents.closed[-1] == "kernel"
