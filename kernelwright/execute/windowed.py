"""Several calls by this process's clock, on inputs that the worker could not address before it started.

Open kernels on a GPU are timed so. One call at a time would cost a change of contexts each, because another
process has to look at its result before the clock stops. What runs in the worker cannot reach this clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.core.errors import InternalFault
from kernelwright.execute.place import Place
from kernelwright.execute.post import Post
from kernelwright.execute.processes import OpenOnDevice
from kernelwright.execute.replies import window_places
from kernelwright.execute.reports import CallReport, CandidateFailed, Failure
from kernelwright.execute.workers import Workers
from kernelwright.sandbox import Worker

OPS = "kernelwright.execute.window_ops"
Look = Callable[[list[Place]], None]
"""Told where the results lie, has a trusted process read some of them."""


@dataclass(frozen=True, slots=True)
class Given:
    """What one window's calls are given."""

    descriptor: int
    """Of the parcel."""
    nbytes: int
    """Size of the parcel."""
    slot: str
    """Whose arguments those in the parcel are like."""
    calls: int


def windowed(workers: Workers, worker: Worker, subject: str, given: Given, look: Look) -> CallReport:
    """Microseconds of all calls together, until `look` has returned."""
    post = _post(workers, worker)
    asked = {
        "subject": subject, "slot": given.slot, "calls": given.calls,
        "nbytes": given.nbytes, "socket": post.theirs,
    }  # fmt: skip
    try:
        workers.act_in(worker, f"{OPS}:settle", subject=subject, slot=given.slot)
        start = time.perf_counter_ns()
        _deliver(post, given.descriptor)
        places = window_places(workers.act_in(worker, f"{OPS}:window", **asked))
        look(places)
        us = (time.perf_counter_ns() - start) / 1e3
    except CandidateFailed as error:
        return CallReport(subject, failure=error.failure)
    return CallReport(subject, us)


def close_window(workers: Workers, worker: Worker) -> None:
    """Results overwritten and freed, the parcel let go."""
    if not workers.lost:
        workers.act_in(worker, f"{OPS}:close_window")


def _post(workers: Workers, worker: Worker) -> Post:
    processes = workers.processes
    if not isinstance(processes, OpenOnDevice):
        raise InternalFault("windows are timed where kernels bring Python and run on a GPU")
    return processes.to_candidate if worker is workers.candidate else processes.to_baselines


def _deliver(post: Post, descriptor: int) -> None:
    try:
        post.send(descriptor)
    except OSError as error:
        failure = Failure("safety", f"its process does not take its inputs: {error.strerror}")
        raise CandidateFailed(failure) from error
