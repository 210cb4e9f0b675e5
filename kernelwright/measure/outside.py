"""The outside clock as a stopwatch: the judge's own, around one call in a worker (CPU).

What a candidate does to its own process cannot reach this clock, and it stops only after the judge
has read the outputs at secret positions, for the kernel and its baselines alike. The caches are
flushed before each call in the worker that is timed: a flush elsewhere would leave that worker's
core-private caches as they were. While anything else than the kernel is timed, its process is held: a
thread that it left behind would slow its opponents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.core.expr import evaluate
from kernelwright.execute.faults import failure_of, our_error
from kernelwright.execute.processes import OPS
from kernelwright.execute.reports import CandidateFailed, Failure, Position
from kernelwright.measure.clock import outside_resolution
from kernelwright.measure.schedule import Round
from kernelwright.measure.stopwatch import ClockName, Resolution, Sentinels
from kernelwright.measure.witness import Witness
from kernelwright.sandbox import Worker, WorkerFailure

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench

_HOST_OPS = "kernelwright.measure.host_ops"
MAX_PREFAULT_BYTES = 4 << 30
"""Memory that each worker touches before it is timed, at most."""


class OutsideClock:
    """Times calls through `bench.timed`; what the kernel's calls left goes to `witness`."""

    clock: ClockName = "outside"

    def __init__(self, bench: Bench, witness: Witness | None = None) -> None:
        self._bench = bench
        self._witness = witness or Witness()
        axes = {**bench.problem.axis_sizes, **bench.workload.axes}
        self._items = [ITEM_BYTES[spec.dtype] for spec in bench.problem.outputs]
        self._sizes = [
            math.prod(evaluate(size, axes) for size in spec.shape) * item
            for spec, item in zip(bench.problem.outputs, self._items, strict=True)
        ]

    @property
    def processes(self) -> list[int]:
        """Those of the kernel, of the baselines and of the reference."""
        bench = self._bench
        return [worker.pid for worker in (bench.candidate, bench.opponents, bench.reference)]

    def warm(self, subjects: Sequence[str], slots: Sequence[str], calls: int) -> None:
        """`calls` untimed calls of each subject on each slot, in rounds as they are timed later.

        Memory is touched beforehand, enough for every slot's outputs and, for baselines, some
        intermediates of like size, so that no timed call meets a page for the first time.
        """
        for name in subjects:
            self._bench.flush(name)
            self._prefault(name, len(slots))
        self.sentinels()
        for _ in range(calls):
            for slot in slots:
                for name in subjects:
                    self._bench.flush(name)
                    self._bench.call(name, slot)

    def block(self, rounds: Sequence[Round]) -> list[dict[str, float]]:
        """Microseconds of each subject in each round. CandidateFailed where the kernel fails."""
        return [self._round(one) for one in rounds]

    def sentinels(self) -> Sentinels:
        """A copy and a product in the reference worker, which no candidate enters."""
        with self._bench.still():
            found: Sentinels = self._ask(self._bench.reference, "sentinels")
        return found

    def resolution(self) -> Resolution:
        """Cost of a call that does nothing, in the worker that runs the kernel."""
        return outside_resolution(self._bench, self._witness)

    def facts(self) -> dict[str, Any]:
        """How calls were made."""
        return {"flush": "read", "cores": list(self._bench.cores)}

    def _worker(self, subject: str) -> Worker:
        return self._bench.candidate if subject == "kernel" else self._bench.opponents

    def _prefault(self, subject: str, slots: int) -> None:
        worker, between = self._worker(subject), 0
        if subject != "kernel":
            problem = self._bench.problem
            between = min(problem.graph_bytes or 0, 2 * (problem.compulsory_bytes or 0))
        wanted = sum(self._sizes) * (slots + 2) + between
        self._ask(worker, "prefault", nbytes=min(wanted, MAX_PREFAULT_BYTES))

    def _flush(self, worker: Worker) -> None:
        self._ask(worker, "flush", OPS)

    def _ask(self, worker: Worker, function: str, module: str = _HOST_OPS, **parameters: Any) -> Any:
        try:
            return worker.call(f"{module}:{function}", 60.0, **parameters)
        except WorkerFailure as error:
            if worker is self._bench.candidate:
                raise CandidateFailed(failure_of(error)) from error
            raise our_error(error, f"'{function}' beside a measurement") from error

    def _round(self, one: Round) -> dict[str, float]:
        positions = self._witness.before(one.slot, self._sizes, self._items)
        return {name: self._timed(name, one.slot, positions) for name in one.order}

    def _timed(self, name: str, slot: str, positions: Sequence[Position]) -> float:
        kernel = name == "kernel"
        with nullcontext() if kernel else self._bench.still():
            return self._clocked(name, slot, positions, kernel)

    def _clocked(self, name: str, slot: str, positions: Sequence[Position], kernel: bool) -> float:
        worker = self._worker(name)
        try:
            self._witness.ready(worker, self._flush)
            report = self._bench.timed(name, slot, positions, self._witness.started, spoil=kernel)
        finally:
            self._witness.stopped(worker)
        if report.us is None:
            raise CandidateFailed(report.failure or Failure("safety", f"{name} gave no time"))
        if kernel:
            self._witness.add(slot, positions, report.samples)
        return report.us
