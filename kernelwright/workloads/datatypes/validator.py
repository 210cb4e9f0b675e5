"""What must hold of any datatype, said by the MPI that is running: knows no kernel and no rule.

    python -m kernelwright.workloads.datatypes.validator --types 1000 --seed 0

- size and bounds are MPI's, and the form has no byte outside MPI's true bounds (in which empty members may
  count, so that they may be wider);
- packing gives the bytes of MPI_Pack, called for all elements or else for one after the other: Open MPI 5.0
  packs several elements of some structs as if they had no extent ("MPI against itself");
- unpacking leaves all of the memory, guards around it included, as MPI_Unpack leaves it;
- what is refused for overlapping blocks does overlap, by the typemap of the reference.

Prints, as JSON, how many types were tried and what differed (the first TOLD of them). Run it under one MPI,
as `mpis` does. Not covered: types of more than some thousand bytes (`random_types`).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from kernelwright.workloads.datatypes import Packer

Bytes = npt.NDArray[np.uint8]
GUARD = 64
FINE = ("equal", "overlapping", "nothing", "MPI against itself")
"""Kinds of outcome in which nothing speaks against the pack."""
TOLD = 20


def check(mpi_type: Any, random: Random) -> tuple[str, str]:
    """What became of one type: a kind (of FINE, or what differs), and what it was."""
    from kernelwright.workloads import datatypes

    packer = datatypes.compile(mpi_type)
    count = random.choice((1, 1, 2, 3))
    memory, origin = room_for(mpi_type, count, random)
    found = _bounds(packer, mpi_type) or _packing(packer, mpi_type, count, memory, origin)
    kind, more = found or _unpacking(packer, mpi_type, count, memory, origin)
    return kind, f"{packer!r} x {count}: {more}"


def _bounds(packer: Packer, mpi_type: Any) -> tuple[str, str] | None:
    """What differs in size and bounds; None where nothing does, and there are bytes to pack."""
    if packer.size != mpi_type.Get_size() or (packer.lb, packer.extent) != mpi_type.Get_extent():
        return "size or extent", f"MPI says {mpi_type.Get_size()} bytes, {mpi_type.Get_extent()}"
    if not packer.size:  # MPICH 5.0 divides by zero when it packs nothing
        return "size or extent" if len(packer.canonical.offsets) else "nothing", ""
    (first, last), (low, high) = packer.canonical.span(), _true_bounds(mpi_type)
    return None if low <= first <= last <= high else ("true bounds", f"MPI says {low} to {high}")


def _packing(packer: Packer, mpi_type: Any, count: int, memory: Bytes, origin: int) -> tuple[str, str] | None:
    """What differs in packed bytes; None where nothing does."""
    from kernelwright.workloads.datatypes import calls

    address = memory.ctypes.data + origin
    theirs = calls.pack(address, count, mpi_type, packer.size * count)
    ours = packer.pack(memory, count, origin=origin).tobytes()
    if ours == theirs:
        return None
    alone = [calls.pack(address + k * packer.extent, 1, mpi_type, packer.size) for k in range(count)]
    return "MPI against itself" if ours == b"".join(alone) else "packed bytes", _where(ours, theirs)


def _unpacking(packer: Packer, mpi_type: Any, count: int, memory: Bytes, origin: int) -> tuple[str, str]:
    """Whether memory is left as MPI leaves it."""
    from kernelwright.core.errors import UsageError
    from kernelwright.workloads.datatypes import calls

    packed = packer.pack(memory, count, origin=origin)
    left, expected = np.full_like(memory, 0xA5), np.full_like(memory, 0xA5)
    try:
        packer.unpack(packed, left, count, origin=origin)
    except UsageError as refusal:
        overlapping = "overlap" in str(refusal) and _overlaps(mpi_type, count)
        return "overlapping" if overlapping else "refused", str(refusal)
    calls.unpack(packed.tobytes(), expected.ctypes.data + origin, count, mpi_type)
    if np.array_equal(left, expected):
        return "equal", ""
    return "unpacked memory", _where(left.tobytes(), expected.tobytes())


def room_for(mpi_type: Any, count: int, random: Random) -> tuple[Bytes, int]:
    """Random bytes for `count` elements with guards around them, and where in them the first one's 0 lies."""
    low, high = _true_bounds(mpi_type)
    steps = (count - 1) * mpi_type.Get_extent()[1]
    low, high = low + min(steps, 0), high + max(steps, 0)
    length = high - low + 2 * GUARD
    return np.frombuffer(random.randbytes(length), np.uint8).copy(), GUARD - low


def _true_bounds(mpi_type: Any) -> tuple[int, int]:
    low, reach = mpi_type.Get_true_extent()
    return (low, low + reach) if mpi_type.Get_size() else (0, 0)


def _overlaps(mpi_type: Any, count: int) -> bool:
    """By the reference: whether some byte occurs twice."""
    from kernelwright.workloads.datatypes.decode import decode
    from kernelwright.workloads.datatypes.reference import typemap

    extent, seen = mpi_type.Get_extent()[1], Counter[int]()
    for offset, size in typemap(decode(mpi_type)):
        for k in range(count):
            seen.update(range(offset + k * extent, offset + k * extent + size))
    return max(seen.values(), default=0) > 1


def _where(ours: bytes, theirs: bytes) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} bytes, MPI has {len(theirs)}"
    first = next(k for k, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
    return f"byte {first} of {len(ours)} differs"


def run(types: int, seed: int) -> dict[str, Any]:
    """Check so many random types under the MPI that is loaded."""
    from mpi4py import MPI

    from kernelwright.workloads.datatypes.random_types import random_type

    kinds, told = Counter[str](), list[dict[str, str]]()
    for number in range(types):
        random = Random(f"{seed} {number}")
        mpi_type = random_type(random)
        kind, what = check(mpi_type, random)
        mpi_type.Free()
        kinds[kind] += 1
        if kind not in FINE and len(told) < TOLD:
            told.append({"seed": f"{seed} {number}", "kind": kind, "what": what})
    version = MPI.Get_library_version().splitlines()[0].split(",")[0].rstrip("\0")
    return {"mpi": version, "types": types, "seed": seed, "kinds": dict(kinds), "different": told}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Random datatypes against the running MPI.")
    parser.add_argument("--types", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(run(options.types, options.seed)), flush=True)
