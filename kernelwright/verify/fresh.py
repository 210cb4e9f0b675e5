"""`FreshContents`: the witness of timed calls on a CPU, which changes the inputs before each round.

What a kernel kept from an earlier call, found again by address, by a look at some elements or by a sum
over all, is of no use to it: each timed call meets contents that no call has met before, the same for all
subjects of a round. They are written into the memory of the process from outside when the clock has started,
and are taken back after it has stopped, so that nothing of a candidate, another thread or a patched function
of ours, sees them beforehand. Bytes of the kernel's outputs, read before the clock stops, are compared with
what eager gives for these contents, mostly where the outputs moved (`fresh_ops`).

    witness = FreshContents(slots)
    paired(bench, "kernel", names, slots.timed(), rule, witness=witness)
    witness.end(); slots.settle()       # contents are as drawn again

Not covered: a GPU, where a worker times many calls by itself, and its whole outputs are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.execute.memory import Writing
from kernelwright.execute.reports import Position
from kernelwright.measure.witness import PIECE_BYTES, Sample, Witness
from kernelwright.verify.slots import Slots

MOVED = 3
"""Places in each output at which it moved; another is anywhere."""


class FreshContents(Witness):
    """Changes contents, and counts samples that do not belong to them."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        self._slots = slots
        self.compared = 0
        self.wrong = 0
        self.rounds = 0
        """Rounds with contents of their own."""
        self.moved = 0
        """Those of them in which outputs moved with the inputs."""
        self._changes: dict[int, dict[str, Writing]] = {}
        """By number of the process."""
        self.why: str = ""
        """Why contents were not changed, or samples not compared, in the last round where it was so."""

    def before(self, slot: str, output_bytes: Sequence[int], item_bytes: Sequence[int]) -> list[Position]:
        """Other contents in `slot`, in every process; where to look in the outputs."""
        self._compare()
        found = self._slots.freshen(slot, MOVED, PIECE_BYTES)
        self.rounds += bool(found["stirred"])
        self.moved += bool(found["at"])
        self.why = found["why"] or self.why
        self._changes = {
            pid: {which: Writing(_places(at, found["changes"], which)) for which in ("now", "before")}
            for pid, at in found["inputs"].items()
        }
        moved = [(tensor, first, size) for tensor, first, size in found["at"]]
        return moved + super().before(slot, output_bytes, item_bytes)

    def change(self, pid: int) -> None:
        """Give the inputs in this process the round's contents."""
        if pid in self._changes:
            self._changes[pid]["now"].write(pid)

    def restore(self, pid: int) -> None:
        """Give them the drawn contents again."""
        if pid in self._changes:
            self._changes[pid]["before"].write(pid)

    def end(self) -> None:
        """Compare what is left."""
        self._compare()

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


def _places(inputs: list[int], changes: list[dict[str, Any]], which: str) -> list[tuple[int, bytes]]:
    """Addresses of elements of the inputs at these addresses, and what is there `now`, or was `before`."""
    return [
        (address + at, bytes.fromhex(data))
        for address, change in zip(inputs, changes, strict=False)
        for at, data in zip(change["at"], change[which], strict=True)
    ]


def _row(sample: Sample) -> dict[str, object]:
    tensor, first, size = sample.position
    return {"tensor": tensor, "first": first, "size": size, "data": (sample.data or b"").hex()}
