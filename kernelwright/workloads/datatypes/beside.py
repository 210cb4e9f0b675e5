"""Times of a kernel beside the running MPI's own, on the same memory: a JSON line for each point of a grid.

    python -m kernelwright.workloads.datatypes.beside                  the grid
    python -m kernelwright.workloads.datatypes.beside --grid short     some points of it

Two comparisons. *Calls*: the kernel and MPI_Pack (MPI_Unpack) called from a loop of compiled code, in turns.
*Python*: `Packer.pack`, or a call that is bound, and mpi4py's `Datatype.Pack`, as a program in Python calls
them. One thread, and its processor time: what other programs take of the processor counts for neither.
Ratios are MPI's time over ours, of paired rounds. Run it under one MPI, as `mpis` does.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from kernelwright.measure.statistics import median, paired_ratio
from kernelwright.workloads import datatypes
from kernelwright.workloads.datatypes.grid import KINDS, Point, points
from kernelwright.workloads.datatypes.native import Frame, address, entry

ROUNDS = 15
LEAST_US = 100.0
"""A sample is at least this long: short calls are repeated."""
Timed = Callable[[int], float]
"""Microseconds of a call, of so many."""
Samples = tuple[list[float], list[float]]
"""Ours and MPI's, microseconds of a call."""


class Race:
    """One point of the grid, ready to be measured. Use as a context: it frees the datatype."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.type = point.datatype()
        self.packer = datatypes.compile(self.type)
        self.memory = np.ones(self.packer.extent, np.uint8)
        self.packed = np.ones(point.bytes, np.uint8)

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *error: object) -> None:
        self.type.Free()

    def calls(self, direction: Literal["pack", "unpack"]) -> Samples:
        """From one compiled loop."""
        from mpi4py import MPI

        from kernelwright.workloads.datatypes import calls

        memory, packed, ns = self.memory.ctypes.data, self.packed.ctypes.data, np.zeros(1, np.int64)
        own, race = Frame(entry(direction), 5), Frame(entry("race"), 11)
        own.cells[:] = [memory, packed, self.packer.table_address, 1, 1]
        way, name = (1, "MPI_Pack") if direction == "pack" else (2, "MPI_Unpack")

        def timed(way: int, function: int) -> Timed:
            def once(repeats: int) -> float:
                race([
                    ns.ctypes.data, way, function, own.list, memory, 1, self.type.handle, packed,
                    self.point.bytes, MPI.COMM_SELF.handle, repeats,
                ])  # fmt: skip
                return float(ns[0]) / 1e3 / repeats

            return once

        return _rounds(timed(0, address(direction)), timed(way, calls.address(name)))

    def python(self, bound: bool) -> Samples:
        """As a program in Python packs: by `pack`, or by what `bind` returned."""
        from mpi4py import MPI

        settled = self.packer.bind(self.memory, 1, self.packed)
        return _rounds(
            _timed(settled if bound else lambda: self.packer.pack(self.memory, 1, self.packed)),
            _timed(lambda: self.type.Pack(self.memory, self.packed, 0, MPI.COMM_SELF)),
        )


def _rounds(ours: Timed, theirs: Timed) -> Samples:
    """In turns, each called as often as makes LEAST_US."""
    repeats = [max(1, int(LEAST_US / max(min(once(3), once(3)), 0.01))) for once in (ours, theirs)]
    pairs = [(ours(repeats[0]), theirs(repeats[1])) for _ in range(ROUNDS)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _timed(call: Callable[[], Any]) -> Timed:
    def once(repeats: int) -> float:
        begun = time.thread_time_ns()
        for _ in range(repeats):
            call()
        return (time.thread_time_ns() - begun) / 1e3 / repeats

    return once


def _compared(samples: Samples) -> dict[str, Any]:
    ours, theirs = samples
    ratio = paired_ratio([theirs], [ours])
    return {
        "us": median(ours), "mpi_us": median(theirs), "ratio": ratio.ratio, "ci": [ratio.low, ratio.high],
    }  # fmt: skip


def measured(grid: Iterator[Point]) -> Iterator[dict[str, Any]]:
    """A record for each point, after a look that both pack the same."""
    from mpi4py import MPI

    version = MPI.Get_library_version().splitlines()[0].split(",")[0].rstrip("\0")
    for point in grid:
        with Race(point) as race:
            yield {
                "what": "speed",
                "mpi": version,
                **asdict(point),
                "pack": _compared(race.calls("pack")),
                "unpack": _compared(race.calls("unpack")),
                "python": _compared(race.python(bound=False)),
                "bound": _compared(race.python(bound=True)),
            }


GRIDS: dict[str, Callable[[], Iterator[Point]]] = {
    "full": points,
    "short": lambda: points(("vector 2-D", "subarray 3-D"), (1 << 10, 1 << 16, 1 << 20), (1, 8, 64)),
    "least": lambda: (next(points((kind,), (1 << 14,), (8,))) for kind in KINDS),
}
"""Points by the name of their grid."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The kernels beside the running MPI.")
    parser.add_argument("--grid", choices=GRIDS, default="full")
    for record in measured(GRIDS[parser.parse_args().grid]()):
        print(json.dumps(record), flush=True)
