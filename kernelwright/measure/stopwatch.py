"""What times one round: the contract between the sampling loop and the clocks.

`outside.OutsideClock` times calls on a CPU from the judge's process, `windows.WindowClock` calls of open
kernels on a GPU; `device.EventClock` and `device.ReplayClock` time windows between device events. The
sampling loop knows only this contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from kernelwright.measure.schedule import Round

ClockName = Literal["outside", "window", "events", "replay"]
Sentinels = dict[str, float]
"""Times in microseconds of fixed pieces of work, by name."""

RESOLVED_MULTIPLE = 20.0
"""A time is resolved where it is at least so many times the clock's own cost: 5 % is clock at most."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the clock itself costs."""

    null_us: float
    """Median time of an empty call or window, per timed call."""
    p95_us: float

    @property
    def resolution_us(self) -> float:
        """What times, or the difference of shorter ones, must reach to be told apart."""
        return RESOLVED_MULTIPLE * self.null_us


class Stopwatch(Protocol):
    """Times rounds of calls, with caches flushed before each, and the sentinels around them."""

    @property
    def clock(self) -> ClockName:
        """Name for the record."""

    @property
    def processes(self) -> Sequence[int]:
        """Numbers of the processes whose work is part of the measurement."""

    def warm(self, subjects: Sequence[str], slots: Sequence[str], calls: int) -> None:
        """`calls` untimed calls of each subject on each slot."""

    def block(self, rounds: Sequence[Round]) -> list[dict[str, float]]:
        """Microseconds of each subject in each round. `CandidateFailed` where the kernel fails."""

    def sentinels(self) -> Sentinels:
        """Times of fixed work, now."""

    def resolution(self) -> Resolution:
        """Cost of the clock, measured now."""

    def facts(self) -> dict[str, Any]:
        """What the record should say of these samples: in-sample clocks, flush, launches per window."""
