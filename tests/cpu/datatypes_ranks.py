"""Two processes under one MPI: what one end packs with Kernelwright, the other receives by the datatype.

Faces of a block in three dimensions, the transpose of a matrix, particles picked by index, a struct. Prints
what rank 0 found: a JSON list of the exchanges that came out right. Run by `test_datatypes_mpi.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from mpi4py import MPI

from kernelwright.workloads import datatypes


def exchanges() -> Iterator[tuple[str, Any, int, int]]:
    """Name, committed datatype, count, bytes of memory."""
    sizes = [6, 5, 8]
    for axis, name in enumerate("zyx"):
        face = [4, 3, 6]
        face[axis] = 1
        made = MPI.DOUBLE.Create_subarray(sizes, face, [1, 1, 1])
        yield f"face across {name}", made.Commit(), 1, 8 * 6 * 5 * 8
    column = MPI.DOUBLE.Create_vector(7, 1, 5)
    yield "transpose", column.Create_resized(0, 8).Commit(), 5, 8 * 35
    particle = MPI.DOUBLE.Create_contiguous(7)
    yield "particles", particle.Create_indexed_block(1, [9, 2, 3, 4, 17, 0]).Commit(), 1, 56 * 18
    record = MPI.Datatype.Create_struct([1, 3, 1], [0, 8, 40], [MPI.INT, MPI.DOUBLE, MPI.SHORT_INT])
    yield "struct", record.Create_resized(0, 48).Commit(), 4, 48 * 4


def right(mpi_type: Any, count: int, length: int) -> bool:
    """Rank 0 sends packed and receives by the datatype; rank 1 the other way round."""
    comm = MPI.COMM_WORLD
    packer = datatypes.compile(mpi_type)
    mine = np.random.default_rng(comm.rank).integers(0, 256, length, dtype=np.uint8)
    theirs = np.random.default_rng(1 - comm.rank).integers(0, 256, length, dtype=np.uint8)
    expected, left = np.full(length, 5, np.uint8), np.full(length, 5, np.uint8)
    packer.unpack(packer.pack(theirs, count), expected, count)
    if comm.rank == 0:
        comm.Send([packer.pack(mine, count), MPI.PACKED], 1)
        comm.Recv([left, count, mpi_type], 1)
    else:
        comm.Recv([left, count, mpi_type], 0)
        comm.Send([mine, count, mpi_type], 0)
        comm.Send([mine, count, mpi_type], 0)
    if comm.rank == 0:
        packed = np.empty(packer.size * count, np.uint8)
        comm.Recv([packed, MPI.PACKED], 1)
        again = np.full(length, 5, np.uint8)
        packer.unpack(packed, again, count)
        if not np.array_equal(again, expected):
            return False
    return np.array_equal(left, expected)


if __name__ == "__main__":
    found = []
    for name, mpi_type, count, length in exchanges():
        fine = MPI.COMM_WORLD.allreduce(right(mpi_type, count, length), MPI.LAND)
        found += [name] if fine else []
        mpi_type.Free()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({"ranks": MPI.COMM_WORLD.size, "right": found}), flush=True)
