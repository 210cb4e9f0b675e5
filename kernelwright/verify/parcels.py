"""`Parcels`: what open kernels on a GPU are given while they are timed, and what is seen of their answers.

Each call meets contents of its own, in memory that its process can address only once the clock runs
(`execute.parcel`), so nothing that was kept or computed beforehand is of use. Pieces of its results,
mostly where outputs moved, are read by the reference's process before the clock stops (`parcel_ops`).

Two things that no piece shows are looked at as well: whether several calls were worked off together, and
whether work of a kernel is on the device while its process is held and its opponents are timed.
"""

from __future__ import annotations

import os
from collections import defaultdict
from statistics import median
from typing import Any

from kernelwright.core.errors import InternalFault
from kernelwright.execute.calls import NOTHING
from kernelwright.execute.place import Place
from kernelwright.execute.windowed import Given
from kernelwright.measure.windows import WindowContents
from kernelwright.measure.witness import PIECE_BYTES
from kernelwright.verify.base import Rejected
from kernelwright.verify.seen import Seen
from kernelwright.verify.slots import Slots

_OPS = "kernelwright.verify.parcel_ops:"
PIECES = 3
"""Places in each output that moved; another is anywhere."""
TOGETHER, TOGETHER_US = 0.15, 200.0
"""How much less a call may take among others than alone, beyond what baselines gain so: a share of it, or
microseconds."""
BUSY = 1.3
"""How many times what it took before a kernel was loaded may a copy take while it is held."""
LOOKS = 3
"""How often a device is looked at that seems busy."""


class Parcels(Seen, WindowContents):
    """Contents for the windows of one kernel. Made before it is loaded."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        processes = slots.bench.open_on_device
        if processes is None:
            raise InternalFault("parcels are for open kernels on a GPU")
        self._slots = slots
        self._post = processes.from_reference
        self._slot = ""
        self._most = 0
        self._calls = 1
        self._descriptor: int | None = None
        self._times: dict[tuple[str, bool], list[float]] = defaultdict(list)
        """Microseconds by subject, and by whether the call was alone in its window."""
        self._many = 0
        """Calls in a window, where there are several."""
        slots.quiet_us = self._quiet_us = min(slots.quiet_us, *(self._copies_us() for _ in range(LOOKS)))
        self._mapped: tuple[int, int] = (0, 0)
        """Processes whose memory the reference's has mapped."""

    @property
    def most_calls(self) -> int:
        """As many as `parcel_ops.MEMORY` leaves room for."""
        self._open()
        return self._most

    def begin(self, calls: int) -> None:
        """Mix other contents; where to look in the results."""
        self._open()
        self._forget_others()
        self._calls = calls
        seeds = [self._slots.fresh_seed() for _ in range(calls)]
        found = self._ask("begin", slot=self._slot, seeds=seeds, pieces=PIECES, nbytes=PIECE_BYTES)
        self.rounds += 1
        self.drawn_anew += 1
        self.moved += bool(found["moved"])
        self.why = found["why"] or self.why

    def parcel(self) -> Given:
        """The contents, in new memory."""
        nbytes = self._ask("pack", socket=self._post.theirs)
        self._descriptor = self._post.receive()
        return Given(self._descriptor, nbytes, self._slot, self._calls)

    def look(self, places: list[Place]) -> None:
        """Read pieces where results lie."""
        self._ask("look", places=places)

    def close(self, subject: str) -> None:
        """Let go of the parcel; compare what was read of a kernel's results."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._ask("unpack")
        if subject == "kernel":
            found = self._ask("compare")
            self.compared += found["compared"]
            self.wrong += found["wrong"]
            self.unread += found["unread"]

    def taken(self, calls: int, times: dict[str, float]) -> None:
        """Compare calls that were alone with calls among others. Rejected where the kernel gains too much."""
        self._many = max(self._many, calls)
        for name, us in times.items():
            self._times[name, calls == 1].append(us)
        gains = {name: self._gain(name) for name in times if name not in NOTHING}
        if self._many > 1 and "kernel" in gains and len(gains) > 1:
            usual = max(0.0, *(us for name, us in gains.items() if name != "kernel"))
            alone = self._alone("kernel")
            excess = gains["kernel"] - usual
            if excess > max(TOGETHER * alone, TOGETHER_US):
                raise Rejected(
                    "time",
                    f"{self._many} calls in a row take {excess:,.0f} us less each than one alone, beyond what"
                    " others gain so: they are worked off together",
                )

    def copied(self, us: float) -> None:
        """Rejected where a device stays busy while the kernel's process is held."""
        again = [self._copies_us() for _ in range(LOOKS)] if us > BUSY * self._quiet_us else [us]
        if min(again) > BUSY * self._quiet_us:
            raise Rejected(
                "time",
                f"the device is busy while the kernel's process is held: a copy takes {min(again):,.0f} us, "
                f"{self._quiet_us:,.0f} before the kernel was loaded",
            )

    def end(self) -> None:
        """No more windows."""
        self._ask("end")
        self._slot = ""

    def _gain(self, name: str) -> float:
        """What a call takes less among others than alone, without what a window costs."""
        among, alone = self._times[name, False], self._times[name, True]
        if not (among and alone):
            return 0.0
        return self._alone(name) - (median(among) - self._nothing(name) / self._many)

    def _alone(self, name: str) -> float:
        return median(self._times[name, True]) - self._nothing(name)

    def _nothing(self, name: str) -> float:
        """What a window without calls costs in the process of a subject."""
        taken = self._times[NOTHING[0] if name == "kernel" else NOTHING[1], True]
        return median(taken) if taken else 0.0

    def _open(self) -> None:
        """Draw what is mixed, once for each bench and process."""
        if not self._slot:
            self._slot = self._slots.timed()[0]
            seeds = [self._slots.fresh_seed() for _ in range(2)]
            self._most = self._ask("room", slot=self._slot, seeds=seeds)

    def _forget_others(self) -> None:
        """Let go of what was mapped of processes that are no more."""
        bench = self._slots.bench
        now = bench.candidate.pid, bench.opponents.pid
        if now != self._mapped:
            self._mapped = now
            self._ask("let_go")

    def _copies_us(self) -> float:
        return float(self._slots.bench.ask_reference("kernelwright.measure.device_ops:copies"))

    def _ask(self, function: str, **parameters: Any) -> Any:
        return self._slots.bench.ask_reference(_OPS + function, **parameters)
