"""`Calls`: what a bench times. The part of `Bench` that clocks use.

report = bench.timed("kernel", "a", positions)         one call by this process's clock
report = bench.window("kernel", given, look)           several calls on inputs that nobody had seen before
with bench.still(): ...                                the candidate's process does nothing meanwhile
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.execute.clocked import clocked, null_call_us
from kernelwright.execute.faults import failure_of
from kernelwright.execute.memory import read_memory
from kernelwright.execute.points import Point
from kernelwright.execute.processes import OpenOnDevice
from kernelwright.execute.replies import pieces
from kernelwright.execute.reports import CallReport, CandidateFailed, Failure, Position, RunReport
from kernelwright.execute.windowed import Given, Look, close_window, windowed
from kernelwright.execute.workers import Workers
from kernelwright.sandbox import Worker, WorkerFailure

NOTHING = ("nothing of the kernel's", "nothing of baselines'")
"""Windows without calls: what all else costs in the candidate's process, and in that of the baselines."""


class Calls(ABC):
    """Calls on the slots of a bench, clocked from this process, and the caches before them."""

    _workers: Workers

    @property
    @abstractmethod
    def _here(self) -> Point:
        """The workload that is judged at now."""

    @abstractmethod
    def _revive(self) -> None:
        """Replace the candidate's worker if it is lost."""

    @abstractmethod
    def _need(self, slot: str) -> None:
        """A worker that lives, and a slot that was drawn."""

    @abstractmethod
    def baseline(self, name: str) -> str | None:
        """Make a baseline ready; the reason if it cannot be."""

    @property
    def open_on_device(self) -> OpenOnDevice | None:
        """The processes, where kernels on a GPU bring Python: windows are timed then, not single calls."""
        found = self._workers.processes
        return found if isinstance(found, OpenOnDevice) else None

    def ask_reference(self, function: str, **parameters: Any) -> Any:
        """Our own work in the process that holds the truth: `module:function`, its JSON result."""
        return self._workers.ask(self._workers.reference, function, **parameters)

    @contextmanager
    def still(self) -> Iterator[None]:
        """The candidate's process, all its threads and descendants, is held; CandidateFailed if it is not.

        Whatever a kernel left running would slow what is timed beside it.
        """
        candidate = self._workers.candidate
        try:
            candidate.hold()
        except WorkerFailure as error:
            raise CandidateFailed(failure_of(error)) from error
        try:
            yield
        finally:
            candidate.resume()

    def window(self, subject: str, given: Given, look: Look) -> CallReport:
        """Calls of one subject, one behind the other, on the inputs of a parcel; microseconds of all.

        The clock starts before the process can address the parcel, and stops after `look` has seen where
        the results lie. `subject` may be one of `NOTHING`, in the candidate's process or in the baselines'.
        """
        self._revive()
        nothing = {NOTHING[0]: self._workers.candidate, NOTHING[1]: self._workers.opponents}
        worker = nothing.get(subject) or self._worker_of(subject)
        report = windowed(self._workers, worker, "nothing" if subject in nothing else subject, given, look)
        close_window(self._workers, worker)
        return report

    def flush(self, subject: str) -> None:
        """Flush the caches, by reading, in the worker that runs `subject`."""
        self._revive()
        self._workers.ask(self._worker_of(subject), "flush")

    def call(self, subject: str, slot: str) -> float:
        """Microseconds of one call of `kernel` or a baseline; CandidateFailed if the kernel fails."""
        report = self.timed(subject, slot)
        if report.us is None:
            raise CandidateFailed(report.failure or Failure("safety", f"{subject} gave no time"))
        return report.us

    def timed(
        self, subject: str, slot: str, positions: Sequence[Position] = (),
        started: Callable[[Worker], None] | None = None, *, spoil: bool = False,
    ) -> CallReport:  # fmt: skip
        """One call by this process's clock, which stops after the outputs were read at `positions`.

        `started` is called first, under the clock, with the worker. `spoil` overwrites what was read,
        after the clock stopped, so that a result left in memory does not pass for a new one. On CUDA
        nothing is read: the worker samples by itself.
        """
        try:
            self._need(slot)
            worker = self._worker_of(subject)
        except CandidateFailed as error:
            return CallReport(subject, failure=error.failure)
        return clocked(self._workers, worker, subject, slot, positions, started, spoil=spoil)

    def sample(self, report: RunReport, positions: Sequence[Position]) -> tuple[bytes | None, ...]:
        """Output bytes of a run, read where they lie; None for what cannot be read."""
        if self._workers.target.name == "cuda":
            return (None,) * len(positions)
        found = [(tensor.address, tensor.nbytes) for tensor in report.tensors]
        return tuple(read_memory(self._workers.candidate.pid, pieces(found, tuple(positions))))

    def null_us(self, subject: str = "kernel", started: Callable[[Worker], None] | None = None) -> float:
        """Microseconds of a call that does nothing, in the worker of `subject`."""
        self._revive()
        return null_call_us(self._workers, self._worker_of(subject), started)

    def _worker_of(self, subject: str) -> Worker:
        if subject == "kernel":
            return self._workers.candidate
        if subject not in self._here.baselines:
            reason = self.baseline(subject)
            if reason is not None:
                raise UsageError(f"baseline '{subject}' cannot be made here: {reason}")
        return self._workers.opponents
