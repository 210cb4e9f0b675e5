"""An append-only file of lines that many processes may write, and that a crash cannot corrupt.

A line is appended by one write under a lock and synchronized before the append returns. A writer
that is killed in mid-write leaves a torn last line: readers skip it, and the next append removes it
(it was never reported as kept). A last line that is whole JSON and lacks only its newline, as some
editors leave it, is completed instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelwright.core.errors import StoreError

_CHUNK = 1 << 20


class Ledger:
    """The lines of one file. It is made by the first append."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._writable = False

    def new_lines(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Whole lines from byte `start` on, each with its own start and without its newline."""
        if not self._open(writing=False):
            return
        at, rest = start, b""
        while data := self._pread(_CHUNK, at + len(rest)):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield at, line
                at += len(line) + 1
        if _is_json(rest):
            yield at, rest

    def line_at(self, start: int, length: int) -> bytes:
        """The bytes of a line that `new_lines` told of."""
        self._open(writing=False)
        return self._pread(length, start)

    def append(self, line: bytes, unless: Callable[[], bool]) -> bool:
        """Append a line; False, and nothing is written, if `unless()` is true once the lock is held."""
        self._open(writing=True)
        with self._guarded("written"), self._locked() as file:
            end = self._mend(file)
            if unless():
                return False
            try:
                _write_all(file, line + b"\n")
                os.fsync(file)
            except OSError:
                os.ftruncate(file, end)
                raise
        return True

    def size(self) -> int:
        """Bytes that it has now; 0 if there is no file."""
        return os.fstat(self._file).st_size if self._open(writing=False) and self._file is not None else 0

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self, writing: bool) -> bool:
        """Open the file if it is not open so; False if there is none to read."""
        if self._file is not None and (self._writable or not writing):
            return True
        if not writing and not self.path.exists():
            return False
        with self._guarded("written" if writing else "read"):
            # Without O_NONBLOCK the opening of a pipe that nobody writes to would not return.
            flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
            opened = self._opened_for_writing() if writing else os.open(self.path, flags)
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                os.close(opened)
                raise OSError(f"{self.path} is a directory, a pipe or a device")
        self.close()
        self._file, self._writable = opened, writing
        return True

    def _opened_for_writing(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        opened = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if is_new:
            _sync_directory(self.path.parent)
        return opened

    def _mend(self, file: int) -> int:
        """Remove a torn last line, or complete a whole one; the file's size afterwards."""
        size = os.fstat(file).st_size
        start = self._start_of_last_line(size)
        if start < size:
            if _is_json(self._pread(size - start, start)):
                _write_all(file, b"\n")
            else:
                os.ftruncate(file, start)
        return os.fstat(file).st_size

    def _start_of_last_line(self, size: int) -> int:
        end = size
        while end > 0:
            begin = max(0, end - _CHUNK)
            newline = self._pread(end - begin, begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1
            end = begin
        return 0

    def _pread(self, length: int, start: int) -> bytes:
        assert self._file is not None
        with self._guarded("read"):
            return os.pread(self._file, length, start)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        assert self._file is not None
        file = self._file
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield file
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    @contextmanager
    def _guarded(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the trial store {self.path} cannot be {verb}: {error.strerror or error}; "
                "free space or permissions there, or choose another place"
            ) from error


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
