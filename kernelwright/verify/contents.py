"""How a timed call gets contents that it has not met before: some elements, or all of them.

`Stirred`: a few elements, written from outside when the clock has started, and taken back after it has
stopped. Nothing of a candidate can look at them beforehand, and the process is not disturbed.

`Whole`: everything, drawn anew. That takes too long to be done under the clock, so the process is held
still from before the first byte is written until the clock has started. Waking it costs 130 us and
more, for all subjects and for the null call alike. A kernel that keeps inputs and answers, and computes
only what depends on elements that changed, gains nothing from what it kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kernelwright.execute.memory import Stretch, Writing, copy_memory, same_memory
from kernelwright.sandbox import Worker

Flush = Callable[[Worker], None]
Inputs = list[tuple[int, int]]
"""Address and bytes of each tensor that changes, in one process."""


class Contents(Protocol):
    """Contents of one round."""

    def ready(self, worker: Worker, flush: Flush) -> None:
        """A call in `worker` is about to be timed."""

    def started(self, worker: Worker) -> None:
        """The clock has started."""

    def stopped(self, worker: Worker) -> None:
        """It has stopped."""

    def intact(self, worker: Worker) -> bool:
        """Whether the worker's inputs still are what it was given."""


class Stirred:
    """Some elements take other values under the clock."""

    def __init__(self, inputs: dict[int, Inputs], changes: list[dict[str, Any]]) -> None:
        """`inputs` by number of the process; `changes` as `execute.stir.changes` tells them."""
        self._writings = {
            pid: {which: Writing(_places(at, changes, which)) for which in ("now", "before")}
            for pid, at in inputs.items()
        }

    def ready(self, worker: Worker, flush: Flush) -> None:
        """Empty the caches."""
        flush(worker)

    def started(self, worker: Worker) -> None:
        """Give the inputs in this process the round's contents."""
        self._write(worker, "now")

    def stopped(self, worker: Worker) -> None:
        """Give them the drawn contents again."""
        self._write(worker, "before")

    def intact(self, worker: Worker) -> bool:
        """Taken back after each call: checksums of the drawn contents tell."""
        return True

    def _write(self, worker: Worker, which: str) -> None:
        if worker.pid in self._writings:
            self._writings[worker.pid][which].write(worker.pid)


class Whole:
    """All contents, written while the process is held."""

    def __init__(self, reference: Worker, own: Inputs, inputs: dict[int, Inputs]) -> None:
        """`own` is where the reference's process has them, `inputs` where the others do."""
        self._reference = reference
        self._stretches = {pid: _stretches(own, at) for pid, at in inputs.items() if pid != reference.pid}
        self._given: set[int] = set()

    def ready(self, worker: Worker, flush: Flush) -> None:
        """Give a process that stands still these contents, and empty the caches from another one.

        The reference's process has them, and empties them itself: no candidate runs there.
        """
        if worker is self._reference:
            flush(worker)
            worker.hold()
            return
        worker.hold()
        self._give(worker)
        flush(self._reference)

    def started(self, worker: Worker) -> None:
        """Let it go on."""
        worker.resume()

    def stopped(self, worker: Worker) -> None:
        """Let it go on, whatever happened."""
        worker.resume()

    def intact(self, worker: Worker) -> bool:
        """Whether nothing was written into inputs since they were given."""
        given = worker.pid in self._given
        return not given or same_memory(self._reference.pid, worker.pid, self._stretches[worker.pid])

    def _give(self, worker: Worker) -> None:
        if worker.pid in self._given or worker.pid not in self._stretches:
            return
        # Where it cannot be written, a kernel does not see it, and its answers do not belong to it.
        copy_memory(self._reference.pid, worker.pid, self._stretches[worker.pid])
        self._given.add(worker.pid)


def _stretches(own: Inputs, others: Inputs) -> list[Stretch]:
    """Only what both sides say alike: a candidate's process may say anything."""
    return [
        (address, onto, size)
        for (address, size), (onto, other) in zip(own, others, strict=False)
        if size == other
    ]


def _places(inputs: Inputs, changes: list[dict[str, Any]], which: str) -> list[tuple[int, bytes]]:
    """Addresses of elements of these inputs, and what is there `now`, or was `before`."""
    return [
        (address + at, bytes.fromhex(data))
        for (address, _), change in zip(inputs, changes, strict=False)
        for at, data in zip(change["at"], change[which], strict=True)
    ]
