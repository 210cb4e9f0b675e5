"""The outside clock for open kernels on a GPU: windows of several calls on inputs of their own.

A candidate's Python lives in the process that runs it, so no event of that process can be believed. The
judge's clock goes around a window: a parcel of inputs that no process could address before, one call on
each set of them, and a look at the results from another process before it stops. That look, the
delivery and two changes of contexts cost some 0.4 to 0.7 ms on an H200, so a window holds as many calls as
make that a twentieth. A baseline goes the same way, in a process of its own, while the candidate's is held.

Several calls in one window could be worked off together, which nobody does who gets one at a time. After
each block some rounds are of single calls; whoever is told of them compares (`WindowContents.taken`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelwright.execute.calls import NOTHING
from kernelwright.execute.place import Place
from kernelwright.execute.reports import CandidateFailed, Failure
from kernelwright.execute.windowed import Given
from kernelwright.measure.schedule import Round
from kernelwright.measure.stopwatch import RESOLVED_MULTIPLE, ClockName, Resolution, Sentinels

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench

_OPS = "kernelwright.measure.device_ops:"
MOST_CALLS = 64
NULL_WINDOWS = 9
SINGLES = 3
"""Rounds of single calls after each block."""
SPARE = 1.25
"""Windows are so much longer than the clock asks for."""
SHORTEST_US = 5.0
"""No call is taken for shorter, when calls are counted for a window."""
_LEAD_CYCLES = 100_000


class WindowContents(ABC):
    """What the calls of a window are given, and who looks at what they leave."""

    @property
    @abstractmethod
    def most_calls(self) -> int:
        """How many sets of inputs, with the results of as many calls, fit into memory."""

    @abstractmethod
    def begin(self, calls: int) -> None:
        """Other contents: one set of inputs for each of `calls`."""

    @abstractmethod
    def parcel(self) -> Given:
        """These contents in memory that no other process can address yet."""

    @abstractmethod
    def look(self, places: list[Place]) -> None:
        """Read some of the results; under the clock."""

    @abstractmethod
    def close(self, subject: str) -> None:
        """The window is over; compare what was read, if it was the kernel's."""

    @abstractmethod
    def taken(self, calls: int, times: dict[str, float]) -> None:
        """What one call of each subject took, in microseconds, `calls` to a window."""

    @abstractmethod
    def copied(self, us: float) -> None:
        """What a fixed copy took while the candidate's process was held."""


class WindowClock:
    """Times windows; how many calls are in one is decided while it warms up."""

    clock: ClockName = "window"

    def __init__(self, bench: Bench, contents: WindowContents) -> None:
        self._bench = bench
        self._contents = contents
        self._calls = 1
        self._null: list[float] = []

    @property
    def processes(self) -> list[int]:
        """Those of the kernel, of the baselines and of the reference."""
        bench = self._bench
        return [worker.pid for worker in (bench.candidate, bench.opponents, bench.reference)]

    def warm(self, subjects: Sequence[str], slots: Sequence[str], calls: int) -> None:
        """Rounds of single calls, then of as many as it will be."""
        singles = [self._round(subjects, 1) for _ in range(calls + 1)]
        self._null = [self._nothing() for _ in range(NULL_WINDOWS)]
        null = float(np.median(self._null))
        shortest = min(min(times[name] for times in singles) for name in subjects) - null
        wanted = math.ceil(SPARE * RESOLVED_MULTIPLE * null / max(shortest, SHORTEST_US))
        self._calls = max(1, min(wanted, self._contents.most_calls, MOST_CALLS))
        if self._calls > 1:
            for _ in range(calls):
                self._round(subjects, self._calls)

    def block(self, rounds: Sequence[Round]) -> list[dict[str, float]]:
        """Microseconds of one call of each subject, by round; then rounds of single calls and of none."""
        taken = [self._round(one.order, self._calls) for one in rounds]
        for _ in range(SINGLES if self._calls > 1 else 0):
            self._single(rounds[-1].order)
        for times in taken:
            self._contents.taken(self._calls, times)
        return taken

    def sentinels(self) -> Sentinels:
        """A copy and a product in the reference's process, while the candidate's is held."""
        with self._bench.still():
            found: Sentinels = self._bench.ask_reference(_OPS + "sentinels", lead_cycles=_LEAD_CYCLES)
            self._contents.copied(self._bench.ask_reference(_OPS + "copies"))
        return found

    def resolution(self) -> Resolution:
        """Cost of a window without calls, shared among those that one has."""
        self._null += [self._nothing() for _ in range(NULL_WINDOWS)]
        median, late = np.median(self._null), np.quantile(self._null, 0.95)
        return Resolution(float(median) / self._calls, float(late) / self._calls)

    def facts(self) -> dict[str, Any]:
        """How calls were made."""
        return {"flush": "read", "calls_in_a_window": self._calls}

    def _round(self, subjects: Sequence[str], calls: int) -> dict[str, float]:
        self._contents.begin(calls)
        return {name: self._window(name) / calls for name in subjects}

    def _single(self, order: Sequence[str]) -> None:
        """Single calls, and windows without any: before both of the kernel's its process was held."""
        others = [name for name in order if name != "kernel"]
        times = self._round([*others, *NOTHING, *("kernel" for _ in order[len(others) :])], 1)
        self._null.append(times[NOTHING[0]])
        self._contents.taken(1, times)

    def _nothing(self) -> float:
        return self._window(NOTHING[0])

    def _window(self, subject: str) -> float:
        given = self._contents.parcel()
        kernel = subject in ("kernel", NOTHING[0])
        with nullcontext() if kernel else self._bench.still():
            report = self._bench.window(subject, given, self._contents.look)
        self._contents.close(subject)
        if report.us is None:
            raise CandidateFailed(report.failure or Failure("safety", f"{subject} gave no time"))
        return report.us
