"""Where the reference's time goes: eager, by operation and input sizes, from torch's profiler.

    profile(bench.reference, slot) -> Profile

Runs in the worker that never loads candidate code. On a GPU the time of an operation is that of the
device kernels it launched, on a CPU its own time without that of operations inside it. Times are
medians over runs, after runs that warm up. Sizes are taken in a run of its own: a profiler that records
them keeps every intermediate tensor, so that operations meet memory for the first time which they would
otherwise share. The profiler costs microseconds for each operation, so shares of very short operations
are too large; what is compared is always timed without it (`paired`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from kernelwright.execute.faults import ours
from kernelwright.sandbox import Worker

WARMUP = 2
"""Runs of the reference before any is timed."""
Shapes = tuple[tuple[int, ...], ...]
Key = tuple[str, Shapes]
Event = tuple[str, Shapes, float]
"""An operation that ran: name, sizes of its inputs, microseconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """One operation of the reference, at one set of input sizes."""

    name: str
    """As torch names it, such as `aten::mm`."""
    shapes: Shapes
    """Sizes of its inputs; empty for what is not a tensor."""
    calls: int
    """In one forward pass."""
    us: float
    """Of all its calls in one forward pass."""
    share: float
    """Of the time of all parts."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of one forward pass, the longest first."""

    parts: tuple[Part, ...]
    total_us: float
    """Sum over all parts."""

    def gain_if_free(self, part: Part) -> float:
        """Amdahl's bound: how much faster the whole would be if this part took no time."""
        return 1 / max(1 - part.share, 1e-9)

    def gain_at_floor(self, part: Part, floor_us: float) -> float:
        """How much faster the whole would be if this part ran at its floor."""
        saved = max(part.us - floor_us, 0.0)
        return self.total_us / (self.total_us - saved) if saved < self.total_us else float("inf")


def profile(worker: Worker, slot: str, runs: int = 5, timeout_s: float = 120.0) -> Profile:
    """Profile the eager reference on the inputs of a slot."""
    with ours("profiling the reference"):
        rows = worker.call("kernelwright.measure.profile:profile_eager", timeout_s, slot=slot, runs=runs)
    total = sum(row["us"] for row in rows)
    parts = [
        Part(
            name=row["name"],
            shapes=tuple(tuple(shape) for shape in row["shapes"]),
            calls=row["calls"],
            us=row["us"],
            share=row["us"] / total if total else 0.0,
        )
        for row in rows
    ]
    return Profile(tuple(sorted(parts, key=lambda part: -part.us)), total)


def profile_eager(state: dict[str, Any], *, slot: str, runs: int) -> list[dict[str, Any]]:
    """Worker side: name, shapes, calls and microseconds of each operation of one forward pass."""
    import torch

    from kernelwright.execute.state import bench_state

    bench = bench_state(state)
    args = bench.slot(slot).args

    def forward() -> Any:
        return bench.reference.module(*args)

    with torch.no_grad():
        for _ in range(WARMUP):
            forward()
        sized = _events(forward, bench.device, sizes=True)
        found = [_events(forward, bench.device) for _ in range(1 + runs)][1:]  # the profiler warms up too
    bench.reference.reset()
    return medians([joined(sized, run) for run in found])


def _events(forward: Callable[[], Any], device: str, sizes: bool = False) -> list[Event]:
    """Operations of one forward pass in the order they began; without their sizes by default."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities, record_shapes=sizes, acc_events=True) as recorded:
        forward()
        if device == "cuda":
            torch.cuda.synchronize()
    clock = "self_device_time_total" if device == "cuda" else "self_cpu_time_total"
    operations = [event for event in recorded.events() if event.name.startswith("aten::")]
    return [
        (event.name, tuple(tuple(shape) for shape in event.input_shapes or ()), getattr(event, clock))
        for event in sorted(operations, key=lambda event: event.time_range.start)
    ]


def joined(sized: Sequence[Event], timed: Sequence[Event]) -> dict[Key, tuple[int, float]]:
    """Calls and microseconds by name and sizes: the sizes of one run, the times of another.

    Where the two runs did not do the same, the times stand without sizes.
    """
    alike = [name for name, _, _ in sized] == [name for name, _, _ in timed]
    found: dict[Key, tuple[int, float]] = {}
    for number, (name, _, us) in enumerate(timed):
        key = (name, sized[number][1] if alike else ())
        calls, before = found.get(key, (0, 0.0))
        found[key] = (calls + 1, before + us)
    return {key: (calls, us) for key, (calls, us) in found.items() if us > 0}


def medians(found: Sequence[Mapping[Key, tuple[int, float]]]) -> list[dict[str, Any]]:
    """A row for each operation: the median over runs of what its calls took together."""
    times: dict[Key, list[float]] = defaultdict(list)
    calls: dict[Key, int] = {}
    for run in found:
        for key, (count, us) in run.items():
            times[key].append(us)
            calls[key] = count
    return [
        {
            "name": name,
            "shapes": [list(shape) for shape in shapes],
            "calls": calls[name, shapes],
            "us": median(us),
        }
        for (name, shapes), us in times.items()
    ]
