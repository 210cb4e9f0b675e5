"""The kernels, built once and called with little ado.

Each thread has a `Frame` for each kernel: the argument list that the kernel's shim reads, and room for some
options, whose addresses never change. A short call copies its inputs there, which broadcasts and
converts them on the way; a long one passes the addresses of the caller's arrays.

Not covered: calls in a child that was forked after a long call (GNU OpenMP does not survive that; use spawn).
"""

from __future__ import annotations

import ctypes as c
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Kernel
from kernelwright.core.target import Target
from kernelwright.execute.launcher import HostModule
from kernelwright.languages import build
from kernelwright.workloads.option_pricing.faults import FAULT_WORDS
from kernelwright.workloads.option_pricing.kernels import evaluate_kernel, implied_kernel
from kernelwright.workloads.option_pricing.kernels.results import RESULTS

Floats = npt.NDArray[np.float64]
INPUTS = 7
SHORT = 2048
"""Calls of up to so many options go through the frame's own room: copying as many costs less than asking
NumPy for addresses."""


class Frame:
    """One thread's way to call one kernel. `faults` holds what the last call could not answer."""

    def __init__(self, entry: Callable[[Any], None], numbers: int, name: str = "evaluate") -> None:
        """`numbers` integers follow the buffers in the argument list of the kernel called `name`."""
        self._entry = entry
        self.name = name
        self._inputs = [np.ones(SHORT) for _ in range(INPUTS)]
        self._results = np.empty(len(RESULTS) * SHORT)
        self.faults: c.Array[c.c_int64] = (c.c_int64 * FAULT_WORDS)()
        self._cells = (c.c_int64 * (INPUTS + 2 + numbers))()
        start = c.addressof(self._cells)
        self._arguments = (c.c_void_p * len(self._cells))(*range(start, start + 8 * len(self._cells), 8))
        self._list = c.addressof(self._arguments)
        self._views = self._inputs
        self._last: tuple[int, ...] = ()
        self._own: list[c.c_int64 | int] = [array.ctypes.data for array in (*self._inputs, self._results)]
        self._cells[INPUTS + 1] = c.addressof(self.faults)
        self._set(self._own)

    def short(self, values: Sequence[Any], count: int, rows: int, numbers: tuple[int, ...]) -> Floats:
        """Results for up to SHORT options, `rows` of `count`, as an array that the next call writes over.

        Each value is a number, or an array of one dimension that broadcasts to `count`.
        """
        if count != len(self._views[0]):
            self._views = [room[:count] for room in self._inputs]
        scalars, bit = 0, 1
        for view, value in zip(self._views, values, strict=True):
            if type(value) is not np.ndarray:
                view[0] = value
                scalars |= bit
            else:
                view[...] = value
            bit += bit
        self._call(count, scalars, numbers)
        return self._results[: rows * count]

    def long(
        self, values: Sequence[float | int | Floats], count: int, rows: int, numbers: tuple[int, ...]
    ) -> Floats:
        """Results for any number of options. Values are numbers or contiguous float64 arrays of `count`."""
        results = np.empty(rows * count)
        held = [value if isinstance(value, np.ndarray) else np.array([value], float) for value in values]
        scalars = sum(1 << k for k, value in enumerate(values) if not isinstance(value, np.ndarray))
        try:
            self._set([array.ctypes.data for array in (*held, results)])
            self._call(count, scalars, numbers)
        finally:  # an interrupt must not leave addresses of arrays that are gone
            self._set(self._own)
        return results

    def _set(self, addresses: list[c.c_int64 | int]) -> None:
        self._cells[: INPUTS + 1] = addresses

    def _call(self, count: int, scalars: int, numbers: tuple[int, ...]) -> None:
        last = (count, scalars, *numbers)
        if last != self._last:
            self._cells[INPUTS + 2 :] = list(last)
            self._last = last
        self._entry(self._list)


class _Frames(threading.local):
    """The frames of one thread, made when they are first asked for."""

    def __init__(self) -> None:
        self.evaluate: Frame | None = None
        self.implied: Frame | None = None


_frames = _Frames()


def evaluate_frame() -> Frame:
    """This thread's way to price and Greeks; EnvironmentFault where the kernel cannot be built."""
    if _frames.evaluate is None:
        _frames.evaluate = Frame(_entry("evaluate"), numbers=4)
    return _frames.evaluate


def implied_frame() -> Frame:
    """This thread's way to implied volatilities; EnvironmentFault where the kernel cannot be built."""
    if _frames.implied is None:
        _frames.implied = Frame(_entry("implied"), numbers=3, name="implied")
    return _frames.implied


@lru_cache
def _entry(name: str) -> Callable[[Any], None]:
    kernel: Kernel = {"evaluate": evaluate_kernel, "implied": implied_kernel}[name]()
    made = build(kernel, Target.parse("cpu"))
    if made.status != "built" or made.artifact is None:
        raise EnvironmentFault(
            f"the option pricing kernel '{name}' does not build here: {made.log.strip().splitlines()[:1]}; "
            "install g++ 11 or newer, or set CXX"
        )
    address = HostModule(made.artifact).entry(name, 0, 1)
    return c.CFUNCTYPE(None, c.c_void_p)(address)
