"""The device clocks as stopwatches: the judge chooses order and slots, the worker times windows.

`EventClock` times single calls with the cache flushed before each. Below about 50 us a single window
is mostly launch and event cost, so `ReplayClock` times CUDA graphs of many calls over rotating
inputs, for the kernel and its baselines alike: replay is only ever compared with replay.
`device_clock` chooses: where the kernel cannot be captured, all are timed by events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.execute.faults import failure_of, our_error
from kernelwright.execute.reports import CandidateFailed, Failure
from kernelwright.measure.baselines import OWN_GRAPHS, OWN_GRAPHS_REASON
from kernelwright.measure.schedule import Round
from kernelwright.measure.stopwatch import ClockName, Resolution, Sentinels
from kernelwright.sandbox import CallFailed, WorkerDied, WorkerTimedOut

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench

OPS = "kernelwright.measure.device_ops"
REPLAY_BELOW_US = 50.0
"""Calls shorter than this are replayed."""
WINDOW_US = 250.0
"""Length of a replay's window."""
CYCLES_PER_US = 2000
"""Upper bound of a GPU's clock, to turn a lead into cycles of a spin."""
LEAD_MARGIN_US = 50.0
NULL_WINDOWS = 21
PATIENT_S = 120.0
"""Longest time for one block of windows."""


class DeviceClock:
    """What both device clocks share: the worker, the lead of the host, sentinels, in-sample clocks."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._lead_cycles = int(LEAD_MARGIN_US * CYCLES_PER_US)
        self._gpu: list[dict[str, int]] = []

    @property
    def processes(self) -> list[int]:
        """That of the kernel and its baselines, and the reference's."""
        return [self._bench.candidate.pid, self._bench.reference.pid]

    def warm(self, subjects: Sequence[str], slots: Sequence[str], calls: int) -> None:
        """Untimed calls; the longest time to enqueue one sets how long the device is held before a window."""
        reply = self._ask("warm", subjects=list(subjects), slots=list(slots), calls=calls)
        self._lead_cycles = int((1.5 * reply["host_us"] + LEAD_MARGIN_US) * CYCLES_PER_US)

    def make_ready(self, subjects: Sequence[str]) -> None:
        """Make the baselines among these subjects that the worker does not have yet."""
        for name in self._ask("unready", subjects=list(subjects)):
            reason = self._bench.baseline(name)
            if reason is not None:
                raise UsageError(f"baseline '{name}' cannot be made here: {reason}; leave it out")

    def sentinels(self) -> Sentinels:
        """A copy of 128 MiB and a half-precision product."""
        found: Sentinels = self._ask("sentinels", lead_cycles=CYCLES_PER_US * 50)
        return found

    def _windows(self, function: str, rounds: Sequence[Round], lead_cycles: int) -> list[dict[str, float]]:
        orders = [(one.order, one.slot) for one in rounds]
        reply = self._ask(function, rounds=orders, lead_cycles=lead_cycles)
        self._gpu.append(reply["gpu"])
        taken: list[dict[str, float]] = reply["rounds"]
        return taken

    def _null(self) -> tuple[float, float]:
        windows = self._ask("null_windows", count=NULL_WINDOWS, lead_cycles=self._lead_cycles)
        return float(np.median(windows)), float(np.quantile(windows, 0.95))

    def _clock_facts(self) -> dict[str, Any]:
        seen = [state["sm_mhz"] for state in self._gpu if "sm_mhz" in state]
        hottest = max((state.get("celsius", 0) for state in self._gpu), default=0)
        return {"sm_mhz": [min(seen), max(seen)] if seen else None, "celsius": hottest or None}

    def _ask(self, function: str, **parameters: Any) -> Any:
        """Work in which a candidate may take part; its worker is replaced if it lost the device."""
        try:
            reply = self._bench.candidate.call(f"{OPS}:{function}", timeout_s=PATIENT_S, **parameters)
        except (WorkerDied, WorkerTimedOut) as error:
            raise CandidateFailed(failure_of(error)) from error
        except CallFailed as error:
            raise our_error(error, f"'{function}' of the device clock") from error
        if isinstance(reply, dict) and "failure" in reply:
            if reply["poisoned"]:
                self._bench.candidate.stop()
            raise CandidateFailed(Failure(*reply["failure"]))
        return reply


class EventClock(DeviceClock):
    """Device events around single calls, caches flushed before each."""

    clock: ClockName = "events"

    def block(self, rounds: Sequence[Round]) -> list[dict[str, float]]:
        """Microseconds of each subject in each round."""
        return self._windows("events", rounds, self._lead_cycles)

    def resolution(self) -> Resolution:
        """Cost of an empty window."""
        return Resolution(*self._null())

    def facts(self) -> dict[str, Any]:
        """In-sample clocks and how windows were made."""
        return {**self._clock_facts(), "flush": "read", "lead_us": self._lead_cycles / CYCLES_PER_US}


class ReplayClock(DeviceClock):
    """Device events around CUDA graphs of many calls over rotating inputs."""

    clock: ClockName = "replay"

    def __init__(self, bench: Bench, subjects: Sequence[str], slots: Sequence[str]) -> None:
        """Capture these subjects; `reasons` says which could not be."""
        super().__init__(bench)
        graphed = {name: OWN_GRAPHS_REASON for name in subjects if name in OWN_GRAPHS}
        names = [name for name in subjects if name not in graphed]
        reply = self._ask("capture", subjects=names, slots=list(slots), window_us=WINDOW_US)
        self.reasons: dict[str, str] = {**graphed, **reply.pop("reasons")}
        self._captured: dict[str, int] = reply

    def warm(self, subjects: Sequence[str], slots: Sequence[str], calls: int) -> None:
        """Untimed replays."""
        self._windows("replayed", [Round(tuple(subjects), slots[0])] * calls, self._lead_cycles)

    def block(self, rounds: Sequence[Round]) -> list[dict[str, float]]:
        """Microseconds of one call of each subject, by round."""
        return self._windows("replayed", rounds, self._lead_cycles)

    def resolution(self) -> Resolution:
        """Cost of an empty window, shared among the calls of a replay."""
        null, p95 = self._null()
        launches = self._captured["launches"]
        return Resolution(null / launches, p95 / launches)

    def facts(self) -> dict[str, Any]:
        """In-sample clocks, calls in each window, bytes that the inputs rotate over."""
        return {**self._clock_facts(), **self._captured, "flush": "read and rotation"}


def device_clock(
    bench: Bench, subjects: Sequence[str], slots: Sequence[str], wanted: ClockName | None = None
) -> tuple[EventClock | ReplayClock, dict[str, str]]:
    """The clock that fits these subjects' times, and the subjects that it cannot time, with reasons.

    The kernel must be the first subject. Replay is used where the shortest call is below
    `REPLAY_BELOW_US` and the kernel and at least one baseline can be captured; `wanted` settles it.
    """
    events = EventClock(bench)
    events.make_ready(subjects)
    if wanted == "events" or (wanted is None and _shortest_us(events, subjects, slots) >= REPLAY_BELOW_US):
        return events, {}
    replay = ReplayClock(bench, subjects, slots)
    if subjects[0] in replay.reasons or len(replay.reasons) >= len(subjects) - 1:
        bench.candidate.call(f"{OPS}:release")
        return events, {}
    return replay, replay.reasons


def _shortest_us(events: EventClock, subjects: Sequence[str], slots: Sequence[str]) -> float:
    events.warm(subjects, slots, 2)
    taken = events.block([Round(tuple(subjects), slot) for slot in slots] * 3)
    return min(float(np.median([times[name] for times in taken])) for name in subjects)
