"""The workloads that a bench has open in its workers, and what was drawn and made at each.

One of them is `here`: the one that is judged at. The others wait, with their slots and baselines,
until they are selected again or left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.problem import Problem, Workload
from kernelwright.execute.sizes import is_large
from kernelwright.execute.workers import Workers
from kernelwright.sandbox import Worker


@dataclass
class Point:
    """What was drawn and made at one workload."""

    workload: Workload
    slots: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Seed and draw of each."""
    baselines: set[str] = field(default_factory=set)
    other_weights: int | None = None
    """Seed of the weights, where they are no longer those that the bench was opened with."""


class Points:
    """All workloads that are open, as the bench keeps account of them and as the workers know them."""

    def __init__(self, problem: Problem, workload: Workload, workers: Workers) -> None:
        self._problem = problem
        self.here = Point(workload)
        self._all = [self.here]
        self._workers = workers

    def find(self, workload: Workload) -> Point | None:
        """The point at this workload, if it is open."""
        return next((each for each in self._all if each.workload == workload), None)

    def others(self) -> list[Point]:
        """Every point but `here`."""
        return [each for each in self._all if each is not self.here]

    def add(self, workload: Workload) -> None:
        """Account for one more workload, and go on there; telling the workers is the bench's."""
        self.here = Point(workload)
        self._all.append(self.here)

    def go_to(self, point: Point) -> None:
        """Go on at a workload that is open."""
        self.here = point
        for worker in self._workers.each():
            self._workers.ask(worker, "select", workload=point.workload.model_dump(mode="json"))

    def leave(self, workload: Workload, workers: Sequence[Worker]) -> None:
        """Free a workload in these workers."""
        self._all = [each for each in self._all if each.workload != workload]
        for worker in workers:
            self._workers.ask(worker, "leave", workload=workload.model_dump(mode="json"))

    def keep(self, slots: Collection[str], holder: Worker) -> None:
        """Leave other workloads, and drop all other slots, as far as `holder` has them."""
        for point in self.others():
            self.leave(point.workload, [holder])
        for slot in [each for each in self.here.slots if each not in slots]:
            del self.here.slots[slot]
            self._workers.ask(holder, "drop", slot=slot)

    def draw_in(self, worker: Worker, slot: str, seed: int, draw: str) -> None:
        """Have a worker draw a slot from its seed.

        On a GPU, where memory is short, others than the candidate draw when they look; so does the reference
        on a CPU where it times nothing. Where memory is very short, whoever looks draws, and `Bench.hold`
        says what stays.
        """
        timed = self._workers.candidate, self._workers.opponents
        waits = worker is not timed[0] and (worker is not timed[1] or self._workers.target.name == "cuda")
        lazily = waits or is_large(self._problem, self.here.workload)
        self._workers.ask(worker, "draw", slot=slot, seed=seed, draw=draw, lazily=lazily)

    def require(self, slot: str) -> None:
        """UsageError if the slot was not drawn."""
        if slot not in self.here.slots:
            near = did_you_mean(slot, self.here.slots)
            raise UsageError(f"slot '{slot}' is empty; draw into it first ({near})")
