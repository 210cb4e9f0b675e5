"""`FreshContents`: the witness of timed calls on a CPU, which changes the inputs before each round.

What a kernel kept from an earlier call, found again by address, by a look at some elements or by a sum
over all, is of no use to it: each timed call meets contents that no call has met before, the same for all
subjects of a round. They are written into the memory of the process from outside (`contents`), so that
nothing of a candidate, another thread or a patched function of ours, sees them beforehand. Bytes of the
kernel's outputs, read before the clock stops, are compared with what eager gives for these contents,
mostly where the outputs moved (`fresh_ops`).

    witness = FreshContents(slots, whole=False)
    paired(bench, "kernel", names, slots.timed(), rule, witness=witness)
    witness.end(); slots.settle()       # contents are as drawn again

Not covered: a GPU, where open kernels get parcels (`parcels`), and the worker of sealed ones times many calls
by itself, and its whole outputs are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.execute.reports import Position
from kernelwright.measure.witness import PIECE_BYTES, Sample
from kernelwright.sandbox import Worker
from kernelwright.verify.contents import Contents, Flush, Stirred, Whole
from kernelwright.verify.seen import Seen
from kernelwright.verify.slots import Slots

MOVED = 3
"""Places in each output at which it moved; another is anywhere."""


class FreshContents(Seen):
    """Changes contents, and counts samples that do not belong to them."""

    def __init__(self, slots: Slots, *, whole: bool = False) -> None:
        """`whole`: contents are drawn anew, where that can be; else some elements of them change."""
        super().__init__()
        self._slots = slots
        self._whole = whole
        self._contents: Contents | None = None

    def before(self, slot: str, output_bytes: Sequence[int], item_bytes: Sequence[int]) -> list[Position]:
        """Other contents in `slot`, in every process; where to look in the outputs."""
        self._compare()
        found = self._slots.freshen(slot, MOVED, PIECE_BYTES, whole=self._whole)
        self.rounds += bool(found["stirred"])
        self.drawn_anew += bool(found["stirred"] and found["whole"])
        self.moved += bool(found["at"])
        self.why = found["why"] or self.why
        self._contents = self._made(found)
        moved = [(tensor, first, size) for tensor, first, size in found["at"]]
        return moved + super().before(slot, output_bytes, item_bytes)

    def ready(self, worker: Worker, flush: Flush) -> None:
        """Empty the caches, and give the process what cannot be given under the clock."""
        if self._contents is None:
            flush(worker)
        else:
            self._contents.ready(worker, flush)

    def started(self, worker: Worker) -> None:
        """Give the inputs in this process the round's contents."""
        if self._contents is not None:
            self._contents.started(worker)

    def stopped(self, worker: Worker) -> None:
        """Undo what may not outlast the call."""
        if self._contents is not None:
            self._contents.stopped(worker)

    def end(self) -> None:
        """Compare what is left, and look whether the last call wrote into its inputs."""
        self._compare()
        if self._contents is not None:
            self.scribbled = not self._contents.intact(self._slots.bench.candidate)

    def _made(self, found: dict[str, Any]) -> Contents | None:
        if not found["stirred"]:
            return None
        if found["whole"]:
            return Whole(self._slots.bench.reference, found["own"], found["inputs"])
        return Stirred(found["inputs"], found["changes"])

    def _compare(self) -> None:
        """Samples of the round before, while its contents stand."""
        read = [sample for sample in self.samples if sample.data is not None]
        self.unread += len(self.samples) - len(read)
        self.samples = []
        if not read:
            return
        found = self._slots.compare_fresh(read[0].slot, [_row(sample) for sample in read])
        self.compared += found["compared"]
        self.wrong += found["wrong"]
        self.why = found.get("why") or self.why


def _row(sample: Sample) -> dict[str, object]:
    tensor, first, size = sample.position
    return {"tensor": tensor, "first": first, "size": size, "data": (sample.data or b"").hex()}
