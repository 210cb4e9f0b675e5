"""Standard streams that hold whatever a command is started with: closed, full, gone, or of another encoding.

A closed stream would leave its number to the next file that is opened, and whatever prints would then
write into a worker's channel or the trial store. What cannot be said on stderr is let go: a log whose
reader went away, or whose disk is full, must not cost the result.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, BinaryIO, TextIO, cast

_IN, _OUT, _ERR = 0, 1, 2


def settle_streams() -> None:
    """Open what is closed on the null device; let stdout print any text, and stderr never fail.

    Streams that somebody has put in place of the interpreter's own are left alone.
    """
    for number in (_IN, _OUT, _ERR):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
            os.set_inheritable(number, True)
    if sys.stdout is None:
        sys.stdout = open(_OUT, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    elif sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _forgiving(sys.stderr)


class _Forgiving(io.RawIOBase):
    """Standard error, which lets go of what cannot be written."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return _ERR

    def isatty(self) -> bool:
        return os.isatty(_ERR)

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        with suppress(OSError):
            while left:
                left = left[os.write(_ERR, left) :]
        return len(data)


def _forgiving(before: TextIO | None) -> TextIO:
    encoding = (before and before.encoding) or "utf-8"
    # Written through, so that nothing waits in a buffer when native code ends the process.
    return io.TextIOWrapper(
        cast(BinaryIO, _Forgiving()), encoding=encoding, errors="backslashreplace", write_through=True
    )


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
