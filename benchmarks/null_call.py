"""How long a call of nothing takes, there and back, by limits: `python benchmarks/null_call.py`.

Prints microseconds of the parent's clock: minimum, median, 95th percentile of 5000 calls.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from kernelwright.sandbox import Limits, Worker

CALLS = 5000


def nothing(state: dict[str, Any]) -> None:
    """What is called."""


def measure(name: str, limits: Limits) -> str:
    """One line for one preset."""
    begun = time.perf_counter()
    with Worker.start(name, limits) as worker:
        started_ms = (time.perf_counter() - begun) * 1e3
        worker.call("null_call:nothing")
        times = sorted(_timed(worker) for _ in range(CALLS))
    low, middle, high = times[0], times[CALLS // 2], times[CALLS * 95 // 100]
    return f"{name:10} start {started_ms:6.1f} ms   call {low:6.1f} {middle:6.1f} {high:6.1f} us"


def _timed(worker: Worker) -> float:
    begun = time.perf_counter_ns()
    worker.call("null_call:nothing")
    return (time.perf_counter_ns() - begun) / 1e3


if __name__ == "__main__":
    for label, limits in (("trusted", Limits.trusted()), ("candidate", Limits.candidate())):
        print(measure(label, limits))
