"""A call of a packer whose buffers, count and origin are settled: what `bind` returns."""

from __future__ import annotations

import ctypes as c
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from kernelwright.workloads.datatypes.native import Frame, entry
from kernelwright.workloads.datatypes.threads import usable

Arguments = list[c.c_int64 | int]
Held = tuple[Any, Any, Any]
THREADS = 4
"""Which argument of a kernel says how many."""


class Bound:
    """A call of a kernel; keeps its buffers alive, and where they are: NumPy refuses to resize them."""

    __slots__ = ("_before", "_call", "_frame", "_held", "_list", "_pins", "out")

    def __init__(
        self,
        name: Literal["pack", "unpack"],
        arguments: Arguments,
        held: Held,
        out: Any,
        change: Callable[[], None] | None,
    ) -> None:
        """`held` must live as long; `change` is called whenever memory is about to be written."""
        self._call, self._held = entry(name), held
        self._pins = [weakref.ref(owner) for owner in map(_owner, held) if isinstance(owner, np.ndarray)]
        self._frame = Frame(self._call, len(arguments))
        self._frame.cells[:] = arguments
        self._list = self._frame.list
        threads = int(arguments[THREADS])
        steps = (partial(_share, self._frame, threads) if threads > 1 else None, change)
        self._before = tuple(step for step in steps if step is not None)
        self.out = out
        """Where packed bytes go; None for an unpacking."""

    def __call__(self) -> Any:
        """Copy again; returns `out`."""
        for step in self._before:
            step()
        self._call(self._list)
        return self.out


def _share(frame: Frame, threads: int) -> None:
    """As many threads as the process may use now: a bound call may have gone through a fork."""
    frame.cells[THREADS] = usable(threads)


def _owner(memory: Any) -> Any:
    """Whose memory it is: NumPy does not move that of an array to which there are weak references."""
    while True:
        if isinstance(memory, memoryview):
            memory = memory.obj
        elif isinstance(memory, np.ndarray) and memory.base is not None:
            memory = memory.base
        else:
            return memory
