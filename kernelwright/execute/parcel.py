"""Worker side: inputs that a process is given at a moment, in device memory that it cannot address before.

    maker: flat = make(state, nbytes, socket)      the parcel's bytes; its descriptor goes out by the socket
    taker: flat = take(state, nbytes, socket)      the same bytes, to be read only, once it has come
    each:  drop(state)

A descriptor cannot be guessed, and the judge sends it on when its clock has started (`post`). Each parcel is
memory of its own: a taker that keeps one mapped sees nothing of the next.
"""

from __future__ import annotations

import ctypes as c
import os
import socket as sockets
from contextlib import ExitStack
from typing import Any

from torch import Tensor

from kernelwright.execute.driver import (
    FILE_DESCRIPTOR,
    ON_DEVICE,
    PINNED,
    READ,
    READ_WRITE,
    Access,
    Location,
    Properties,
    check,
    driver,
    tensor_at,
)

_HERE = Location(ON_DEVICE, 0)
_KEPT = "parcel"
_PATIENCE_S = 20.0


def make(state: dict[str, Any], nbytes: int, socket: int) -> Tensor:
    """At least `nbytes` of new device memory, and its descriptor to whoever is at the other end."""
    drop(state)
    wanted = Properties(PINNED, FILE_DESCRIPTOR, _HERE)
    unit, handle, descriptor = c.c_size_t(), c.c_uint64(), c.c_int(-1)
    check(driver().cuMemGetAllocationGranularity(c.byref(unit), c.byref(wanted), 0), "unit of its memory")
    whole = max(-(-nbytes // unit.value), 1) * unit.value
    with ExitStack() as undo:
        code = driver().cuMemCreate(c.byref(handle), whole, c.byref(wanted), 0)
        check(code, f"{whole} bytes of device memory to share")
        undo.callback(driver().cuMemRelease, handle)
        found = _mapped(state, handle, whole, READ_WRITE)
        undo.pop_all()
    code = driver().cuMemExportToShareableHandle(c.byref(descriptor), handle, FILE_DESCRIPTOR, 0)
    check(code, "a descriptor of device memory")
    try:
        sockets.send_fds(_socket(state, socket), [b"p"], [descriptor.value])
    finally:
        os.close(descriptor.value)
    return found


def take(state: dict[str, Any], nbytes: int, socket: int) -> Tensor:
    """The parcel whose descriptor comes next."""
    drop(state)
    _, descriptors, _, _ = sockets.recv_fds(_socket(state, socket), 1, 1)
    handle = c.c_uint64()
    try:
        code = driver().cuMemImportFromShareableHandle(c.byref(handle), descriptors[0], FILE_DESCRIPTOR)
        check(code, "device memory of another process")
    finally:
        os.close(descriptors[0])
    return _mapped(state, handle, nbytes, READ)


def drop(state: dict[str, Any]) -> None:
    """Let go of the parcel that is held here, if one is."""
    kept = state.pop(_KEPT, None)
    if kept is not None:
        address, nbytes, handle = kept
        driver().cuMemUnmap(address, nbytes)
        driver().cuMemAddressFree(address, nbytes)
        driver().cuMemRelease(handle)


def _mapped(state: dict[str, Any], handle: c.c_uint64, nbytes: int, rights: int) -> Tensor:
    address, access = c.c_uint64(), Access(_HERE, rights)
    with ExitStack() as undo:
        check(driver().cuMemAddressReserve(c.byref(address), nbytes, 0, 0, 0), "addresses")
        undo.callback(driver().cuMemAddressFree, address.value, nbytes)
        check(driver().cuMemMap(address.value, nbytes, 0, handle, 0), "mapping")
        undo.callback(driver().cuMemUnmap, address.value, nbytes)
        check(driver().cuMemSetAccess(address.value, nbytes, c.byref(access), 1), "access to its memory")
        undo.pop_all()
    state[_KEPT] = address.value, nbytes, handle
    return tensor_at(address.value, nbytes)


def _socket(state: dict[str, Any], number: int) -> sockets.socket:
    """The socket that came with the process under this number."""
    known: dict[int, sockets.socket] = state.setdefault("sockets", {})
    if number not in known:
        known[number] = sockets.socket(fileno=number)
        known[number].settimeout(_PATIENCE_S)
    return known[number]
