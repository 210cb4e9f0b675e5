"""`Measurement`: samples, method, stopping rule, environment; never a bare mean.

Times are microseconds. An interval is `(low, high)` at 95 %. A speed-up is baseline time over
kernel time.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kernelwright.core.wire import Wire

METHOD_VERSION = 5
"""Version of the measuring method; stands in every record."""

Interval = tuple[float, float]
Status = Literal["won", "level", "at_floor", "behind", "unresolved", "degenerate"]


class Timing(Wire):
    """Times of one subject (a kernel or a baseline)."""

    name: str
    latency_us: float
    """Median over all samples kept."""
    ci: Interval
    """95 % interval of the median."""
    samples_us: tuple[tuple[float, ...], ...]
    """Samples by replicate (process)."""


class Speedup(Wire):
    """Ratio of paired times, baseline over kernel."""

    baseline: str
    ratio: float
    ci: Interval


class Measurement(Wire):
    """How fast a kernel is, beside which baselines, measured how and where."""

    method_version: int = METHOD_VERSION
    clock: Literal["outside", "window", "events", "replay"]
    """`outside`: another process's clock around one call; `window`: the same around several calls on a
    device; `events`: device events around a call; `replay`: device events around CUDA-graph replays."""
    kernel: Timing
    baselines: tuple[Timing, ...] = ()
    speedups: tuple[Speedup, ...] = ()
    """One for each baseline; the smallest ratio is the one over the strongest."""
    status: Status = "unresolved"
    status_reason: str = ""
    """One line: why the status is not what the interval alone suggests."""
    floor_share: float | None = None
    """Reporting floor over the kernel's time: 1 means nothing is left."""
    resolution_us: float | None = None
    """Below this the clock cannot tell times apart."""
    stopping: str = ""
    """The rule that ended sampling."""
    prepare_us: float | None = None
    """Time of the plan's `prepare`; charged to every call unless weights are frozen."""
    environment: dict[str, Any] = Field(default_factory=dict)
    """Machine, threads, governor, clocks, versions, drift found by the sentinels."""

    @property
    def strongest(self) -> Speedup | None:
        """The speed-up over the strongest baseline, or None where none was measured."""
        return min(self.speedups, key=lambda speedup: speedup.ratio, default=None)
