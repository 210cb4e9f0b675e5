"""One process under one MPI: what `compile` refuses, forms of types as MPI builds them. Prints JSON.

Run by `test_datatypes_mpi.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from kernelwright.core.errors import UsageError
from kernelwright.workloads import datatypes
from kernelwright.workloads.datatypes import calls, decode


def message(call: Callable[[], Any]) -> str:
    """What is said to it; empty where nothing is refused."""
    try:
        call()
    except UsageError as error:
        return str(error)
    return ""


def deep() -> Any:
    made = MPI.BYTE.Dup()
    for _ in range(decode.DEEPEST + 1):
        made = made.Dup()
    return made.Commit()


def numbers(kind: Any, dtype: str) -> bool:
    """Whether MPI's own packing gives the same numbers; of some, an MPI does not copy the padding."""
    values = np.arange(12).astype(dtype) / 3
    vector = kind.Create_vector(4, 1, 3).Commit()
    theirs = calls.pack(values.ctypes.data, 1, vector, 4 * values.itemsize)
    packed = datatypes.compile(vector).pack(values)
    return packed.view(dtype).tolist() == np.frombuffer(theirs, dtype).tolist() == values[::3].tolist()


def refusals() -> dict[str, str]:
    freed = MPI.INT.Create_vector(2, 1, 3).Commit()
    freed.Free()
    uncommitted = MPI.INT.Create_vector(2, 1, 3)
    good = MPI.INT.Create_vector(2, 1, 3).Commit()
    return {
        "freed": message(lambda: datatypes.compile(freed)),
        "uncommitted": message(lambda: datatypes.compile(uncommitted)),
        "text": message(lambda: datatypes.compile("MPI_INT")),
        "threads": message(lambda: datatypes.compile(good, threads=0)),
        "many threads": message(lambda: datatypes.compile(good, threads=1025)),
        "deep": message(lambda: datatypes.compile(deep())),
        **far(),
        "good": message(lambda: datatypes.compile(good)),
    }


def far() -> dict[str, str]:
    """Types of more bytes than 64 bits count, or farther away."""
    most, byte, wide = 2**31 - 1, MPI.BYTE, MPI.BYTE.Create_resized(0, 1 << 40)
    made = {
        "far contiguous": MPI.DOUBLE.Create_contiguous(most).Create_contiguous(most),
        "far hindexed": byte.Create_hindexed([1, 1], [-(2**62), 2**62]),
        "far hindexed_block": byte.Create_hindexed_block(1, [-(2**62), 2**62]),
        "far indexed": wide.Create_indexed([1, 1], [0, most]),
        "far vector": wide.Create_vector(2, 1, most),
        "far struct": MPI.Datatype.Create_struct([1, 1], [0, 2**62], [byte, byte]),
    }
    found = {name: message(lambda kind=kind: datatypes.compile(kind.Commit())) for name, kind in made.items()}
    still = datatypes.compile(byte.Create_resized(0, 0).Commit())
    return {**found, "far count": message(lambda: still.pack(bytes(8), 2**62))}


def forms() -> dict[str, str]:
    byte, double = MPI.BYTE, MPI.DOUBLE
    made = {
        "named": double.Dup(),
        "contiguous": double.Create_contiguous(10),
        "vector": double.Create_vector(3, 2, 5),
        "hvector": double.Create_hvector(3, 2, 40),
        "indexed": double.Create_indexed([2, 2, 2], [0, 5, 10]),
        "hindexed": double.Create_hindexed([2, 2, 2], [0, 40, 80]),
        "indexed_block": double.Create_indexed_block(2, [0, 5, 10]),
        "hindexed_block": double.Create_hindexed_block(2, [0, 40, 80]),
        "struct": MPI.Datatype.Create_struct([2] * 3, [0, 40, 80], [double] * 3),
        "subarray": double.Create_subarray([3, 5], [3, 2], [0, 0], MPI.ORDER_C),
        "subarray of the other order": double.Create_subarray([5, 3], [2, 3], [0, 0], MPI.ORDER_FORTRAN),
        "darray": double.Create_darray(
            3, 0, [3, 5], [MPI.DISTRIBUTE_NONE, MPI.DISTRIBUTE_BLOCK], [MPI.DISTRIBUTE_DFLT_DARG] * 2, [1, 3]
        ),
        "resized": double.Create_vector(3, 2, 5).Create_resized(-8, 200),
        "large": byte.Create_contiguous(1 << 30).Create_contiguous(2).Create_hvector(3, 1, 1 << 33),
    }  # fmt: skip
    return {name: str(datatypes.compile(mpi_type.Commit()).canonical) for name, mpi_type in made.items()}


if __name__ == "__main__":
    result: dict[str, Any] = {"refusals": refusals(), "forms": forms()}
    vector = MPI.INT.Create_vector(2, 1, 3).Commit()
    packer = datatypes.compile(vector)
    vector.Free()
    result["numbers"] = {
        "long double": numbers(MPI.LONG_DOUBLE, "longdouble"),
        "double complex": numbers(MPI.C_DOUBLE_COMPLEX, "complex128"),
        "float complex": numbers(MPI.C_FLOAT_COMPLEX, "complex64"),
    }
    result["after it was freed"] = packer.pack(bytes(range(16))).tolist()
    MPI.Finalize()
    result["refusals"]["finalized"] = message(lambda: datatypes.compile(MPI.INT))
    print(json.dumps(result), flush=True)
