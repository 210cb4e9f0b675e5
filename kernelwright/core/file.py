"""`read_file`: the bytes of a file that a user names. Pipes are not waited for, devices not read for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_file(path: Path, most: int) -> bytes:
    """The whole of a regular file of at most `most` bytes; OSError for anything else."""
    # Without O_NONBLOCK the opening of a pipe that nobody writes to would not return.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes", str(path))
    return data
