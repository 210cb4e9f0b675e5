"""What timed calls left behind: bytes of their outputs, read before the clock stopped.

A kernel that is right when it is checked and idle when it is timed is caught here: the judge draws
positions that nobody knows beforehand, reads them while its clock still runs, and spoils them
afterwards, so that an answer left over from an earlier call does not pass. Gate `timed` compares
the bytes with the expected outputs. On a GPU the worker keeps whole outputs of timed calls instead.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelwright.execute.reports import Position
from kernelwright.sandbox import Worker

PIECES = 4
"""Positions in each output."""
PIECE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes of one output of one timed call."""

    slot: str
    position: Position
    """Which output, first byte, number of bytes."""
    data: bytes | None
    """`None` where nothing could be read."""


@dataclass
class Witness:
    """Samples of the kernel's timed calls, in order."""

    samples: list[Sample] = field(default_factory=list)
    unread: int = 0
    """Samples that could not be read, of those that are no longer kept."""

    def before(self, slot: str, output_bytes: Sequence[int], item_bytes: Sequence[int]) -> list[Position]:
        """A round on `slot` begins: where to look in outputs of these sizes."""
        return secret_positions(output_bytes, item_bytes)

    def ready(self, worker: Worker, flush: Callable[[Worker], None]) -> None:
        """A call in `worker` is about to be timed; `flush` empties the caches of the cores, in a process."""
        flush(worker)

    def started(self, worker: Worker) -> None:
        """The clock has started."""

    def stopped(self, worker: Worker) -> None:
        """It has stopped, or the call came to nothing."""

    def end(self) -> None:
        """The last round has ended."""

    def add(self, slot: str, positions: Sequence[Position], found: Sequence[bytes | None]) -> None:
        """Keep what one call left."""
        self.samples += [
            Sample(slot, position, data) for position, data in zip(positions, found, strict=True)
        ]


def secret_positions(output_bytes: Sequence[int], item_bytes: Sequence[int]) -> list[Position]:
    """Positions in outputs of these sizes, whole elements each, from the system's random source."""
    found: list[Position] = []
    for tensor, (nbytes, item) in enumerate(zip(output_bytes, item_bytes, strict=True)):
        size = min(PIECE_BYTES, nbytes)
        places = (nbytes - size) // item + 1
        found += [(tensor, secrets.randbelow(places) * item, size) for _ in range(PIECES if size else 0)]
    return found
