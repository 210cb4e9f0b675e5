"""Landlock: which files a process may read and write, by rules that it can never loosen.

Source: Documentation/userspace-api/landlock.rst of the Linux kernel. Rights that the running kernel
does not know are left out, so an older kernel enforces less; `restrict` says which version it found.
It also keeps the process from tracing or signalling what runs outside its own domain (signals from
version 6 on).
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from kernelwright.sandbox import kernel_calls

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_QUERY = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGE_TREE = sum(1 << bit for bit in range(4, 13))  # remove and make entries of every kind
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_READS = _EXECUTE | _READ_FILE | _READ_DIR
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract unix sockets and signals


def version() -> int:
    """Landlock's version in the running kernel; OSError where there is none."""
    return kernel_calls.syscall(_CREATE, None, 0, _VERSION_QUERY)


def restrict(writable: Iterable[str], readable: Iterable[str] | None, network: bool) -> int:
    """Confine this thread and all that it starts; returns Landlock's version. Needs NO_NEW_PRIVS.

    Writing is allowed beneath `writable` alone. Reading and running are free where `readable` is
    None, else allowed beneath both. Paths that do not exist are left out. OSError where the kernel
    refuses.
    """
    found = version()
    rights = _write_rights(found)
    handled = rights | (_READS if readable is not None else 0)
    tcp = _TCP if found >= 4 and not network else 0
    scopes = _SCOPES if found >= 6 else 0
    ruleset = kernel_calls.syscall(_CREATE, *_attributes(found, handled, tcp, scopes), 0)
    try:
        for path in writable:
            _allow(ruleset, path, handled)
        for path in readable or ():
            _allow(ruleset, path, _READS)
        kernel_calls.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return found


def _write_rights(found: int) -> int:
    rights = _WRITE_FILE | _CHANGE_TREE
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
        rights |= right if found >= since else 0
    return rights


def _attributes(found: int, files: int, tcp: int, scopes: int) -> tuple[ctypes.Array[ctypes.c_char], int]:
    size = 24 if found >= 6 else 16 if found >= 4 else 8
    return ctypes.create_string_buffer(struct.pack("<QQQ", files, tcp, scopes)[:size], size), size


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if Path(path).is_dir() else rights & _ON_A_FILE
        rule = ctypes.create_string_buffer(struct.pack("<Qi", allowed, handle), 12)
        kernel_calls.syscall(_ADD, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(handle)
