"""What a worker's exception means here: a candidate's failure, a user's mistake, or our own fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.core.errors import (
    EnvironmentFault,
    InternalFault,
    KernelwrightError,
    ProblemError,
    UsageError,
)
from kernelwright.execute.reports import Failure
from kernelwright.sandbox import CallFailed, WorkerFailure, WorkerTimedOut

_OURS: dict[str, type[KernelwrightError]] = {
    kind.__name__: kind for kind in (UsageError, ProblemError, EnvironmentFault, InternalFault)
}


def failure_of(error: WorkerFailure) -> Failure:
    """The failure of a candidate that took its worker with it, or broke it."""
    if isinstance(error, WorkerTimedOut):
        return Failure("timeout", str(error))
    if isinstance(error, CallFailed):
        return Failure("safety", f"the worker failed while the kernel ran: {error}")
    return Failure("crash", str(error))


@contextmanager
def ours(what: str) -> Iterator[None]:
    """Raise `our_error` for what a worker comes to in the block: no candidate's code runs there."""
    try:
        yield
    except WorkerFailure as error:
        raise our_error(error, what) from error


def our_error(error: WorkerFailure, what: str) -> KernelwrightError:
    """What to raise when no candidate is to blame."""
    if isinstance(error, CallFailed):
        kind = _OURS.get(error.type)
        if kind is not None:
            return kind(error.message)
        if error.type in ("MemoryError", "OutOfMemoryError"):
            said = (error.message.strip().splitlines() or [error.type])[0]
            return EnvironmentFault(f"{what} ran out of memory: {said}; take smaller inputs or free memory")
        return InternalFault(f"{what} failed in its worker: {error}")
    return EnvironmentFault(
        f"{what} lost its worker: {error}; free memory or raise the limits, then run again"
    )
