"""`compile`: a committed MPI datatype becomes a `Packer`, which copies by it.

    packer = datatypes.compile(mpi_type)
    packed = packer.pack(array, 1)           the bytes that MPI_Pack gives
    packer.unpack(packed, array, 1)
    again = packer.bind(array, 1)            the same call, to be repeated without its checks: again()

The datatype may be freed afterwards: a packer does not use it. Every fault is a UsageError, raised
before the first byte is written. Not covered: buffers that another thread changes meanwhile.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError, first_line
from kernelwright.workloads.datatypes.bound import Arguments, Bound, Held
from kernelwright.workloads.datatypes.canonical import Canonical, canonicalize
from kernelwright.workloads.datatypes.decode import decode
from kernelwright.workloads.datatypes.memory import span_of
from kernelwright.workloads.datatypes.native import pack_frame, unpack_frame
from kernelwright.workloads.datatypes.overlap import disjoint
from kernelwright.workloads.datatypes.table import table_of
from kernelwright.workloads.datatypes.tensors import change_of
from kernelwright.workloads.datatypes.threads import usable

MOST = 2**62
"""Bytes, and elements, beyond which a call is refused without looking at its buffers."""
MOST_THREADS = 1024
"""Of a packer; OpenMP ends the process where it cannot start as many as it is asked for."""


class Packer:
    """A datatype, ready to copy by."""

    __slots__ = (
        "_apart", "_span", "_table", "canonical", "extent", "lb", "size", "table_address", "threads",
        "true_extent", "true_lb",
    )  # fmt: skip

    def __init__(
        self, canonical: Canonical, bounds: tuple[int, int], true: tuple[int, int], threads: int = 1
    ) -> None:
        """`bounds` and `true` are lower bound and extent as MPI says them, in bytes."""
        self.canonical = canonical
        """Where an element's bytes lie; `str` shows it."""
        self.size = canonical.size
        """Packed bytes of an element."""
        self.lb, self.extent = bounds
        """Lower bound, and how far apart elements lie, in bytes."""
        self.true_lb, self.true_extent = true
        """First byte of an element, and bytes from there to its last."""
        self.threads = threads
        """Threads for messages above 1 MiB; one alone in a process forked after several were used."""
        self._table = table_of(canonical, self.extent)
        self.table_address = self._table.ctypes.data
        """Where the form lies as the kernels read it."""
        self._span = canonical.span()
        self._apart = 0
        """Elements up to which none are known to overlap."""

    def pack(self, buffer: Any, count: int = 1, out: Any = None, *, origin: int = 0) -> Any:
        """The bytes of `count` elements, as MPI_Pack gives them.

        `origin` is the byte of `buffer` at which the first element's 0 lies. Returns `out`, of which the
        first `count * size` bytes are written, or a new array of so many bytes (NumPy, uint8).
        """
        arguments, held = self._packing(buffer, count, out, origin)
        if out is not None and (change := change_of(out)) is not None:
            change()
        pack_frame()(arguments)
        return held[1] if out is None else out

    def unpack(self, packed: Any, buffer: Any, count: int = 1, *, origin: int = 0) -> None:
        """Put packed bytes of `count` elements where they belong in `buffer`; all other bytes stay.

        `packed` may be longer. `origin` as in `pack`.
        """
        arguments, held = self._unpacking(packed, buffer, count, origin)
        if (change := change_of(buffer)) is not None:
            change()
        unpack_frame()(arguments)
        del held

    def bind(self, buffer: Any, count: int = 1, out: Any = None, *, origin: int = 0) -> Bound:
        """`pack` with everything settled: call what is returned as often as the buffer's contents change."""
        arguments, held = self._packing(buffer, count, out, origin)
        target = held[1] if out is None else out
        return Bound("pack", arguments, held, target, change_of(target))

    def bind_unpack(self, packed: Any, buffer: Any, count: int = 1, *, origin: int = 0) -> Bound:
        """`unpack` with everything settled."""
        arguments, held = self._unpacking(packed, buffer, count, origin)
        return Bound("unpack", arguments, held, None, change_of(buffer))

    def _packing(self, buffer: Any, count: Any, out: Any, origin: Any) -> tuple[Arguments, Held]:
        """What the kernel is called with, and what must live as long."""
        count, origin = _number(count, "count", 0), _number(origin, "origin", -MOST)
        wanted = count * self.size
        address, length, held = span_of(buffer, "the buffer", False)
        self._fits(count, origin, length)
        if out is None:
            out = _room(count, wanted)
        target, room, kept = span_of(out, "out", True)
        if room < wanted:
            raise UsageError(
                f"{count:,} elements of {self.size:,} bytes were asked for, and out has {room:,}; "
                f"give {wanted:,} bytes"
            )
        if target < address + length and address < target + wanted:
            raise UsageError("out shares memory with the buffer; give other memory")
        return [address + origin, target, self.table_address, count, usable(self.threads)], (
            held,
            kept,
            self._table,
        )

    def _unpacking(self, packed: Any, buffer: Any, count: Any, origin: Any) -> tuple[Arguments, Held]:
        """As `_packing`."""
        count, origin = _number(count, "count", 0), _number(origin, "origin", -MOST)
        wanted = count * self.size
        source, given, held = span_of(packed, "packed", False)
        if given < wanted:
            raise UsageError(
                f"{count:,} elements of {self.size:,} bytes were asked for, and packed has {given:,}; "
                f"give {wanted:,} bytes, or a smaller count"
            )
        address, length, kept = span_of(buffer, "the buffer", True)
        self._fits(count, origin, length)
        if source < address + length and address < source + wanted:
            raise UsageError("packed shares memory with the buffer; give other memory")
        if count > self._apart:
            self._check_apart(count)
        return [address + origin, source, self.table_address, count, usable(self.threads)], (
            held,
            kept,
            self._table,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, and packers sent to other processes, have a table of their own."""
        bounds, true = (self.lb, self.extent), (self.true_lb, self.true_extent)
        return type(self), (self.canonical, bounds, true, self.threads)

    def __repr__(self) -> str:
        return f"Packer({self.size:,} bytes in {self.true_extent:,}; {self.canonical})"

    def _fits(self, count: int, origin: int, length: int) -> None:
        """UsageError where an element would reach out of a buffer of `length` bytes."""
        if not count or not self.size:
            return
        steps = (count - 1) * self.extent
        first, last = origin + self._span[0] + min(steps, 0), origin + self._span[1] + max(steps, 0)
        if first < 0 or last > length:
            raise UsageError(
                f"{count:,} elements of the datatype take the bytes from {first:,} to {last:,} of a buffer "
                f"that has {length:,}; give a larger one, a smaller count, or another origin (now {origin:,})"
            )

    def _check_apart(self, count: int) -> None:
        if not disjoint(self.canonical, count, self.extent):
            raise UsageError(
                f"blocks of {count:,} elements of the datatype overlap, so that what unpacking leaves there "
                "depends on the order; use a datatype whose blocks lie apart"
            )
        self._apart = count


def compile(mpi_type: Any, *, threads: int = 1) -> Packer:
    """A packer for a committed `mpi4py.MPI.Datatype`.

    `threads` share messages above 1 MiB; programs that run a process on each core leave it at 1. UsageError
    for a type that was freed or not committed, and for what `decode` and `canonicalize` refuse.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads is {threads!r}; give a whole number from 1 to {MOST_THREADS:,}")
    _check_usable(mpi_type)
    form = canonicalize(decode(mpi_type))
    return Packer(form, mpi_type.Get_extent(), mpi_type.Get_true_extent(), threads)


def _room(count: int, wanted: int) -> Any:
    """So many bytes; UsageError where there are not."""
    try:
        return np.empty(wanted, np.uint8)
    except (MemoryError, ValueError, OverflowError) as error:  # by how much it is too much
        raise UsageError(
            f"{count:,} elements are {wanted:,} bytes, which memory does not hold; give a smaller count"
        ) from error


def _number(value: Any, name: str, least: int) -> int:
    """A whole number from `least` to MOST; UsageError for anything else."""
    if type(value) is int and least <= value <= MOST:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= index(value) <= MOST:
        raise UsageError(f"{name} is {value!r}; give a whole number from {least:,} to {MOST:,}")
    return index(value)


def _check_usable(mpi_type: Any) -> None:
    """UsageError unless the datatype is one that MPI would send."""
    from mpi4py import MPI

    if not isinstance(mpi_type, MPI.Datatype):
        raise UsageError(f"a {type(mpi_type).__name__} was given; give an mpi4py.MPI.Datatype")
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise UsageError("MPI is not running (not initialized, or finalized); compile datatypes while it is")
    if mpi_type == MPI.DATATYPE_NULL:
        raise UsageError("the datatype is null: it was freed, or never made; give a committed one")
    nothing = [bytearray(), 0, mpi_type]
    try:  # no function says whether a type is committed, but gathering nothing from oneself wants it so
        MPI.COMM_SELF.Allgather(nothing, nothing)
    except MPI.Exception as error:
        raise UsageError(
            f"MPI does not take the datatype ({first_line(error)}); call Commit() on it, and do not use one "
            "that was freed"
        ) from error
