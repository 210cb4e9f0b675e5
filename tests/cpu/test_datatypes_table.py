"""The table of the datatypes ledger: means, what counts as slower, the newest of each point alone."""

from __future__ import annotations

from typing import Any

from benchmarks.datatypes import table


def speed(run: int, peer: str, kind: str, block: int, ratio: float) -> dict[str, Any]:
    timed = {"us": 1.0, "mpi_us": ratio, "ratio": ratio, "ci": [ratio * 0.9, ratio * 1.1]}
    ways = dict.fromkeys(("pack", "unpack", "python", "bound"), timed)
    shape = {"kind": kind, "bytes": 1024, "block": block, "pitch": 16}
    return {"what": "speed", "run": run, "peer": peer, "version": "5", "mpi": "long name", **shape, **ways}


def equality(run: int, peer: str) -> dict[str, Any]:
    found = {"kinds": {"equal": 900, "overlapping": 98}, "different": [{}, {}], "types": 1000}
    return {"what": "equality", "run": run, "peer": peer, "version": "5", "mpi": "long name", **found}


def test_means_and_the_slower() -> None:
    lines = table([
        speed(1, "mpich", "vector 2-D", 8, 100.0), speed(1, "mpich", "vector 2-D", 16, 2.0),
        equality(1, "mpich"), speed(2, "mpich", "vector 2-D", 8, 8.0),
        speed(2, "mpich", "subarray 3-D", 8, 0.97), speed(2, "openmpi", "vector 2-D", 8, 0.99),
        {"what": "absent", "run": 2, "peer": "another", "reason": "not installed"},
    ])  # fmt: skip
    assert "| mpich 5 | 1,000 | 900 | 98 | 2 |" in lines
    assert any(line.startswith("| vector 2-D | 4.00x |") and "0.99x" in line for line in lines)
    assert any(line.startswith("| all | 2.49x |") for line in lines)
    shape = "subarray 3-D, 1,024 bytes in blocks of 8 every 16"
    assert f"| mpich 5 | MPI_Pack | 3 | 1 | 0.97x (0.87 to 1.07): {shape} |" in lines
    assert any(line.startswith("| openmpi 5 | MPI_Pack | 1 | 0 | 0.99x") for line in lines)


def test_a_run_without_speeds() -> None:
    assert table([equality(1, "mpich")])[-1] == "| mpich 5 | 1,000 | 900 | 98 | 2 |"
