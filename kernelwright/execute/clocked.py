"""One call by this process's clock, around a request to a worker.

What is to be new to a candidate is written into its memory when the clock has started, so that none of
its code, in whatever thread, has seen it before. The clock stops only after the outputs were read where they
lie, so that work which is still under way when the reply comes is timed too. What runs in the worker cannot
reach this clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kernelwright.execute.memory import read_memory, write_memory
from kernelwright.execute.replies import pieces, places
from kernelwright.execute.reports import CallReport, CandidateFailed, Position
from kernelwright.execute.workers import Workers
from kernelwright.sandbox import Worker

_POISON = 0xFF


def clocked(
    workers: Workers,
    worker: Worker,
    subject: str,
    slot: str,
    positions: Sequence[Position],
    started: Callable[[Worker], None] | None = None,
    *,
    spoil: bool,
) -> CallReport:
    """Microseconds of one call, and the output bytes at `positions` (on CUDA nothing is read).

    `started` is called first, under the clock. `spoil` overwrites what was read, after the clock stopped.
    """
    try:
        start = time.perf_counter_ns()
        if started is not None:
            started(worker)
        reply = workers.act_in(worker, "call", subject=subject, slot=slot)
        at = [] if workers.target.name == "cuda" else pieces(places(reply), tuple(positions))
        samples = read_memory(worker.pid, at) if at else []
        us = (time.perf_counter_ns() - start) / 1e3
    except CandidateFailed as error:
        return CallReport(subject, failure=error.failure)
    if spoil:
        write_memory(worker.pid, at, _POISON)
    return CallReport(subject, us, tuple(samples) or (None,) * len(positions))


def null_call_us(workers: Workers, worker: Worker, started: Callable[[Worker], None] | None = None) -> float:
    """Microseconds of a call that does nothing."""
    start = time.perf_counter_ns()
    if started is not None:
        started(worker)
    workers.ask(worker, "null")
    return (time.perf_counter_ns() - start) / 1e3
