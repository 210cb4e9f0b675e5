"""Read and write another process's memory, so that a clock can stop after outputs were looked at.

Uses `process_vm_readv` and `process_vm_writev` (Linux), which refuse what is not mapped: addresses
that a worker made up do no harm. Reading a child needs no right beyond being its parent's user.
"""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

MAX_PIECES = 1024
"""Pieces that one call of the system takes (IOV_MAX)."""
MAX_PIECE_BYTES = 1 << 20
_AT_ONCE_BYTES = 4 << 20
"""Of memory that is copied between two other processes, through this one."""

Piece = tuple[int, int]
"""Address and number of bytes."""
Stretch = tuple[int, int, int]
"""Address in one process, address in another, number of bytes."""


class _Iovec(c.Structure):
    _fields_ = [("base", c.c_void_p), ("length", c.c_size_t)]


def read_memory(pid: int, pieces: Sequence[Piece]) -> list[bytes | None]:
    """The bytes at these addresses of process `pid`; None for what cannot be read."""
    found: list[bytes | None] = []
    for start in range(0, len(pieces), MAX_PIECES):
        batch = pieces[start : start + MAX_PIECES]
        together = _read(pid, batch) if all(_sane(piece) for piece in batch) else None
        found += together if together is not None else [_read_one(pid, piece) for piece in batch]
    return found


def write_memory(pid: int, pieces: Sequence[Piece], byte: int) -> int:
    """Fill these pieces of process `pid` with `byte`; how many of them could be written."""
    return sum(Writing([(address, bytes([byte]) * size)]).write(pid) for address, size in pieces)


class Writing:
    """Bytes for addresses of another process, laid out beforehand: writing is one call of the system."""

    def __init__(self, places: Sequence[tuple[int, bytes]]) -> None:
        """At most `MAX_PIECES` places; those that are no addresses make the whole fail."""
        self._sane = len(places) <= MAX_PIECES and all(_sane((at, len(data))) for at, data in places)
        self._buffers = [c.create_string_buffer(data, len(data)) for _, data in places]
        self._size = sum(len(data) for _, data in places)
        self._local = (_Iovec * len(places))(*[_Iovec(c.addressof(one), len(one)) for one in self._buffers])
        self._remote = (_Iovec * len(places))(*[_Iovec(at, len(data)) for at, data in places])

    def write(self, pid: int) -> bool:
        """Whether all of it could be written into process `pid`."""
        if not self._sane:
            return False
        count = len(self._buffers)
        return bool(_libc().process_vm_writev(pid, self._local, count, self._remote, count, 0) == self._size)


def _sane(piece: Piece) -> bool:
    address, size = piece
    return 0 < address < 1 << 62 and 0 < size <= MAX_PIECE_BYTES


def _read(pid: int, pieces: Sequence[Piece]) -> list[bytes | None] | None:
    """All pieces in one call of the system, or None if any byte of them is missing."""
    buffers = [c.create_string_buffer(size) for _, size in pieces]
    local = (_Iovec * len(pieces))(*[_Iovec(c.addressof(buffer), len(buffer)) for buffer in buffers])
    remote = (_Iovec * len(pieces))(*[_Iovec(address, size) for address, size in pieces])
    got = _libc().process_vm_readv(pid, local, len(pieces), remote, len(pieces), 0)
    return [buffer.raw for buffer in buffers] if got == sum(size for _, size in pieces) else None


def _read_one(pid: int, piece: Piece) -> bytes | None:
    found = _read(pid, [piece]) if _sane(piece) else None
    return found[0] if found else None


def copy_memory(source: int, target: int, stretches: Sequence[Stretch]) -> bool:
    """Whether all of these could be copied from process `source` to process `target`."""
    chunk = _Chunk()
    return all(
        chunk.get(source, at, size) and chunk.put(target, onto, size) for at, onto, size in _parts(stretches)
    )


def same_memory(one: int, other: int, stretches: Sequence[Stretch]) -> bool:
    """Whether all of these are readable and hold the same bytes in both processes."""
    left, right = _Chunk(), _Chunk()
    return all(
        left.get(one, at, size) and right.get(other, onto, size) and left.same(right, size)
        for at, onto, size in _parts(stretches)
    )


class _Chunk:
    """Some megabytes of this process."""

    def __init__(self) -> None:
        self._buffer = (c.c_char * _AT_ONCE_BYTES)()

    def get(self, pid: int, address: int, size: int) -> bool:
        return bool(_libc().process_vm_readv(pid, *self._both(address, size), 0) == size)

    def put(self, pid: int, address: int, size: int) -> bool:
        return bool(_libc().process_vm_writev(pid, *self._both(address, size), 0) == size)

    def same(self, other: _Chunk, size: int) -> bool:
        return c.string_at(self._buffer, size) == c.string_at(other._buffer, size)

    def _both(self, address: int, size: int) -> tuple[Any, int, Any, int]:
        local, remote = _Iovec(c.addressof(self._buffer), size), _Iovec(address, size)
        return c.byref(local), 1, c.byref(remote), 1


def _parts(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    for at, onto, nbytes in stretches:
        for done in range(0, nbytes, _AT_ONCE_BYTES):
            yield at + done, onto + done, min(_AT_ONCE_BYTES, nbytes - done)


def readable(pid: int | None = None) -> bool:
    """Whether this machine lets a process read memory so (its own, or a worker's)."""
    probe = c.create_string_buffer(b"probe")
    return read_memory(pid or os.getpid(), [(c.addressof(probe), 5)]) == [b"probe"]


@lru_cache(maxsize=1)
def _libc() -> Any:
    libc = c.CDLL(None, use_errno=True)
    for name in ("process_vm_readv", "process_vm_writev"):
        function = getattr(libc, name)
        function.restype = c.c_ssize_t
        function.argtypes = [c.c_int, c.c_void_p, c.c_ulong, c.c_void_p, c.c_ulong, c.c_ulong]
    return libc
