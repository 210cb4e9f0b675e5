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
from typing import Any

import numpy as np

GUARD = 64
FINE = ("equal", "overlapping", "nothing", "MPI against itself")
"""Kinds of outcome in which nothing speaks against the pack."""
TOLD = 20


def check(mpi_type: Any, random: Random) -> tuple[str, str]:
    """What became of one type: a kind (of FINE, or what differs), and what it was."""
    from kernelwright.core.errors import UsageError
    from kernelwright.workloads import datatypes
    from kernelwright.workloads.datatypes import calls

    packer = datatypes.compile(mpi_type)
    shown = repr(packer)
    if packer.size != mpi_type.Get_size() or (packer.lb, packer.extent) != mpi_type.Get_extent():
        return "size or extent", f"{shown}: MPI says {mpi_type.Get_size()} bytes"
    (first, last), (low, high) = packer.canonical.span(), _true_bounds(mpi_type)
    if packer.size and not low <= first <= last <= high:
        return "true bounds", f"{shown}: MPI says {low} to {high}"
    if not packer.size:  # MPICH 5.0 divides by zero when it packs nothing
        return ("nothing", shown) if not len(packer.canonical.offsets) else ("size or extent", shown)
    count = random.choice((1, 1, 2, 3))
    memory, origin = room_for(mpi_type, count, random)
    first = memory.ctypes.data + origin
    theirs = calls.pack(first, count, mpi_type, packer.size * count)
    ours = packer.pack(memory, count, origin=origin).tobytes()
    if ours != theirs:
        alone = [calls.pack(first + k * packer.extent, 1, mpi_type, packer.size) for k in range(count)]
        if theirs != b"".join(alone) == ours:
            return "MPI against itself", shown
        return "packed bytes", f"{shown} x {count}: {_where(ours, theirs)}"
    left, expected = np.full_like(memory, 0xA5), np.full_like(memory, 0xA5)
    try:
        packer.unpack(ours, left, count, origin=origin)
    except UsageError as refusal:
        overlapping = "overlap" in str(refusal) and _overlaps(mpi_type, count)
        return ("overlapping" if overlapping else "refused"), f"{shown} x {count}: {refusal}"
    calls.unpack(theirs, expected.ctypes.data + origin, count, mpi_type)
    if not np.array_equal(left, expected):
        return "unpacked memory", f"{shown} x {count}: {_where(left.tobytes(), expected.tobytes())}"
    return "equal", shown


def room_for(mpi_type: Any, count: int, random: Random) -> tuple[np.ndarray[Any, Any], int]:
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
    version = MPI.Get_library_version().splitlines()[0].rstrip("\0").strip()
    return {"mpi": version, "types": types, "seed": seed, "kinds": dict(kinds), "different": told}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Random datatypes against the running MPI.")
    parser.add_argument("--types", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(run(options.types, options.seed)), flush=True)
