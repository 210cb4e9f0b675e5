"""The few system calls that Python does not wrap, through ctypes. Linux only.

Each raises OSError with the kernel's own errno. `AVAILABLE` says whether they can be used at all.
"""

from __future__ import annotations

import ctypes
import os
import sys

AVAILABLE = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True)

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 1 << 18


def syscall(number: int, *args: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """A raw system call; a buffer is passed by address."""
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))


def prctl(option: int, value: int) -> None:
    """`prctl(option, value, 0, 0, 0)`."""
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags`."""
    _checked(_libc.unshare(flags))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """`mount(2)`."""
    _checked(
        _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    )


def drop_capabilities() -> None:
    """Give up every capability of this process, for good together with PR_SET_NO_NEW_PRIVS."""
    version_3 = 0x20080522
    header = ctypes.create_string_buffer(version_3.to_bytes(4, sys.byteorder) + bytes(4), 8)
    _checked(_libc.capset(header, ctypes.create_string_buffer(24)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
