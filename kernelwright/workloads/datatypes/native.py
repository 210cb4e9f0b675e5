"""The kernels, built once and called with little ado.

Each thread has a `Frame` for each kernel: the argument list that its shim reads. A form comes in as a table
(`table.py`), which is made once for each packer.

Not covered: calls with several threads in a child that was forked after such a call, where GNU OpenMP does
not return (`threads.py` keeps to one).
"""

from __future__ import annotations

import ctypes as c
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.target import Target
from kernelwright.execute.launcher import HostModule
from kernelwright.languages import build
from kernelwright.workloads.datatypes.kernels import pack_kernel, race_kernel, unpack_kernel

Name = Literal["pack", "unpack", "race"]
KERNELS = {"pack": pack_kernel, "unpack": unpack_kernel, "race": race_kernel}


class Frame:
    """One thread's way to call one kernel with integers and addresses."""

    def __init__(self, entry: Callable[[Any], None], arguments: int) -> None:
        self._entry = entry
        self.cells: c.Array[c.c_int64] = (c.c_int64 * arguments)()
        start = c.addressof(self.cells)
        self._arguments = (c.c_void_p * arguments)(*range(start, start + 8 * arguments, 8))
        self.list = c.addressof(self._arguments)
        """Address of the argument list."""

    def __call__(self, values: list[c.c_int64 | int]) -> None:
        """Call with these arguments, which fit 64 bits."""
        self.cells[:] = values
        self._entry(self.list)


class _Frames(threading.local):
    """The frames of one thread, made when they are first asked for."""

    def __init__(self) -> None:
        self.pack: Frame | None = None
        self.unpack: Frame | None = None


_frames = _Frames()


def pack_frame() -> Frame:
    """This thread's way to pack; EnvironmentFault where the kernel cannot be built."""
    if _frames.pack is None:
        _frames.pack = Frame(entry("pack"), 5)
    return _frames.pack


def unpack_frame() -> Frame:
    """This thread's way to unpack; EnvironmentFault where the kernel cannot be built."""
    if _frames.unpack is None:
        _frames.unpack = Frame(entry("unpack"), 5)
    return _frames.unpack


@lru_cache
def entry(name: Name) -> Callable[[Any], None]:
    """The kernel's shim, built where it was not before; EnvironmentFault where that fails."""
    return c.CFUNCTYPE(None, c.c_void_p)(address(name))


@lru_cache
def address(name: Name) -> int:
    """Where the kernel's shim lies."""
    made = build(KERNELS[name](), Target.parse("cpu"))
    if made.status != "built" or made.artifact is None:
        raise EnvironmentFault(
            f"the datatypes kernel '{name}' does not build here: {made.log.strip().splitlines()[:1]}; "
            "install g++ 11 or newer, or set CXX"
        )
    return HostModule(made.artifact).entry(name, 0, 1)
