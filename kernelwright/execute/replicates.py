"""Processes for the replicates of a measurement, made ready while something is done that is not timed.

    replicates = Replicates(3)                               # started; no device is touched yet
    replicates.begin(bench.opening, ["eager", "compile"])    # opened, baselines compiled side by side
    bench.replicates = replicates                            # `bench.restart` takes one

A replicate has to be a fresh process, which costs seconds to start and more to compile baselines in.
No candidate ever ran in these. On a CPU, whose cores are the ones that are timed, all have to be ready
(`settle`) before anything is; there each has a partner for the kernel beside the one for the baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from kernelwright.core.problem import Problem, Workload
from kernelwright.execute.processes import OPS, standby
from kernelwright.execute.workers import PATIENT_S
from kernelwright.sandbox import Worker, WorkerFailure

_WARM = "warm-up"


@dataclass(frozen=True, slots=True)
class Opening:
    """What a worker needs to be told of a problem before it can do anything."""

    problem: Problem
    workload: Workload
    device: str
    weights_seed: int
    threads: int

    def tell(self, worker: Worker, *, beside: bool = False) -> None:
        """Open the problem in a worker, instead of what it knows or `beside` it; the worker's errors pass."""
        worker.call(
            f"{OPS}:open_problem",
            PATIENT_S,
            problem=self.problem.model_dump(mode="json"),
            workload=self.workload.model_dump(mode="json"),
            device=self.device,
            weights_seed=self.weights_seed,
            threads=self.threads,
            beside=beside,
        )


@dataclass(frozen=True, slots=True)
class Replicate:
    """One process: what is open in it, and the baselines that it has."""

    worker: Worker
    opened: Opening | None
    baselines: frozenset[str]
    partner: Worker | None = None
    """On a CPU: the process for the kernel; nothing is open in it."""


class Replicates:
    """Processes that wait to be taken, one by one."""

    def __init__(
        self,
        count: int,
        start: Callable[[str], Worker] = standby,
        partner: Callable[[str], Worker] | None = None,
    ) -> None:
        """Start `count` processes with `start`, and with `partner` as many more; returns at once."""
        self._waiting = [start(f"replicate {number}") for number in range(count)]
        self._partners = [partner(f"candidate {number}") for number in range(count)] if partner else []
        self._made: dict[int, Future[Replicate]] = {}
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="replicate")

    @property
    def waiting(self) -> int:
        """How many were not taken yet."""
        return len(self._waiting)

    def begin(self, opening: Opening, names: Sequence[str]) -> None:
        """Open the problem in each, and make these baselines; returns at once.

        Each begins with another one, because what one has compiled the others find on disk.
        """
        for number, worker in enumerate(self._waiting):
            start = number * len(names) // max(len(self._waiting), 1)
            order = [*names[start:], *names[:start]]
            self._made[worker.pid] = self._pool.submit(_ready, worker, opening, order)

    def settle(self) -> None:
        """Wait until all have done what they were asked to."""
        wait(self._made.values())
        for worker in self._partners:
            worker.wait_ready()

    def take(self) -> Replicate | None:
        """The next one, waited for; None where all are taken. One that did not get ready is left out."""
        while self._waiting:
            worker = self._waiting.pop(0)
            try:
                made = self._made.get(worker.pid)
                found = Replicate(worker, None, frozenset()) if made is None else made.result()
                return replace(found, partner=self._partners.pop(0) if self._partners else None)
            except WorkerFailure:
                worker.stop()
        return None

    def close(self) -> None:
        """End those that were not taken."""
        for worker in (*self._waiting, *self._partners):
            worker.stop()
        self._waiting.clear()
        self._partners.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)


def _ready(worker: Worker, opening: Opening, names: Sequence[str]) -> Replicate:
    opening.tell(worker)
    worker.call(f"{OPS}:draw", PATIENT_S, slot=_WARM, seed=0, draw="file")
    made = [name for name in names if _makes(worker, name)]
    worker.call(f"{OPS}:drop", PATIENT_S, slot=_WARM)
    return Replicate(worker, opening, frozenset(made))


def _makes(worker: Worker, name: str) -> bool:
    found = worker.call(f"{OPS}:baseline", PATIENT_S, name=name, slot=_WARM)
    return found["reason"] is None
