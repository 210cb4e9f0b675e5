"""Arguments of a call, checked and brought to one shape: what the frame of a kernel takes.

Arguments broadcast as NumPy's do. Results are float64, or float32 where NumPy makes float32 of the numbers
that were given: a Python number never widens, a float64 of NumPy does. All arithmetic is in float64. What is
not a real number is refused here; what is a number but no option (a negative strike) is the kernel's to find.
Where tensors lie on a GPU, `device` takes over.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.workloads.option_pricing.containers import MOST_INT, Wrap, plain, wrap_of
from kernelwright.workloads.option_pricing.device import answers_there, on_device
from kernelwright.workloads.option_pricing.flags import sign_of
from kernelwright.workloads.option_pricing.native import SHORT, Floats, Frame

MODELS = ("black", "black_scholes", "black_scholes_merton")
_BLACK, _MERTON = 0, 1
_FLOAT64 = np.dtype(np.float64)
_FLAGS = {str, float, int, list, np.ndarray}
"""Types of flags that are no container to which results go back."""


def answers(
    frame: Frame, flag: Any, values: tuple[Any, ...], rows: int, numbers: tuple[int, ...], wait: bool = True
) -> list[Any]:
    """`rows` results of a kernel for a flag and six numbers, which are checked and broadcast.

    `frame.faults` says what could not be answered; on a GPU only if the caller will `wait` for that.
    UsageError, one line, for what does not fit.
    """
    if type(flag) not in _FLAGS or (shape := _plain_shape(given := [sign_of(flag), *values])) is None:
        if on_device((flag, *values)):
            given = [flag if on_device((flag,)) else sign_of(flag), *values]
            return answers_there(frame.name, given, rows, numbers, frame.faults, wait)
        return _unpacked(flag, values, [sign_of(flag), *values]).run(frame, rows, numbers)
    if not shape:
        found: list[Any] = frame.short(given, 1, rows, numbers).tolist()
        return found
    if len(shape) == 1 and 0 < shape[0] <= SHORT:
        count, flat = shape[0], frame.short(given, shape[0], rows, numbers)
        return [flat[first : first + count].copy() for first in range(0, rows * count, count)]
    return Arguments(given, shape, np.float64, None).run(frame, rows, numbers)


def _unpacked(flag: Any, values: tuple[Any, ...], given: list[Any]) -> Arguments:
    """Arguments of which some are in containers, of other types, or to be broadcast."""
    plains = [plain(value) for value in given]
    arrays = [value for value in plains if not isinstance(value, float | int)]
    for array in arrays:
        _check(array)
    shape, is_sign = _shape(arrays), not isinstance(plains[0], float | int)
    return Arguments(plains, shape, _dtype(arrays[is_sign:]), wrap_of((flag, *values), shape))


@dataclass(frozen=True, slots=True)
class Arguments:
    """Numbers or arrays that broadcast to `shape`: sign, underlying, strike, years, rate, yield, last."""

    values: list[Any]
    shape: tuple[int, ...]
    dtype: type[np.floating[Any]]
    wrap: Wrap | None

    def run(self, frame: Frame, rows: int, numbers: tuple[int, ...]) -> list[Any]:
        """`rows` results: numbers where all arguments are numbers, else in the arguments' container."""
        count = prod(self.shape)
        short = 0 < count <= SHORT and len(self.shape) <= 1
        if short:
            flat = frame.short(self.values, count, rows, numbers)
        else:
            flat = frame.long([_spread(value, self.shape) for value in self.values], count, rows, numbers)
        if not self.shape:
            return [self._number(value) for value in flat.tolist()]
        return [self._array(flat[row * count : (row + 1) * count], short) for row in range(rows)]

    def _number(self, value: float) -> Any:
        if self.wrap is None and self.dtype is np.float64:
            return value
        return self.dtype(value) if self.wrap is None else self.wrap(np.array(value, self.dtype))

    def _array(self, flat: Floats, copy: bool) -> Any:
        # What a short call found lies in the frame, where the next call writes.
        array = flat.astype(self.dtype, copy=copy).reshape(self.shape)
        return array if self.wrap is None else self.wrap(array)


def _plain_shape(given: list[Any]) -> tuple[int, ...] | None:
    """The shape where all are numbers or float64 arrays of one shape, as most are; else None."""
    shape: tuple[int, ...] = ()
    for value in given:
        kind = type(value)
        if kind is float or (kind is int and -MOST_INT <= value <= MOST_INT):
            continue
        if kind is not np.ndarray or value.dtype is not _FLOAT64 or value.shape != (shape or value.shape):
            return None
        shape = value.shape
    return shape


def model_number(model: str, dividend_yield: Any) -> int:
    """The kernel's number of a model. UsageError for one that is not known, or that has no dividend yield."""
    if model == MODELS[-1]:
        return _MERTON
    if model not in MODELS:
        raise UsageError(f"model is {model!r}; allowed: {', '.join(MODELS)}")
    if type(dividend_yield) not in (float, int) or dividend_yield != 0:
        raise UsageError(f"model '{model}' has no dividend yield; leave it out, or take {MODELS[-1]}")
    return _BLACK if model == MODELS[0] else _MERTON


def _check(array: Any) -> None:
    if array.dtype.kind not in "fiub":
        raise UsageError(f"an argument is of type {array.dtype}; give real numbers")


def _shape(arrays: list[Any]) -> tuple[int, ...]:
    shape: tuple[int, ...] = ()
    for array in arrays:
        if array.shape == shape or not array.shape:
            continue
        try:
            shape = np.broadcast_shapes(shape, array.shape) if shape else array.shape
        except ValueError:
            raise UsageError(
                f"shapes {shape} and {array.shape} do not broadcast; give arrays of one length, or numbers"
            ) from None
    return shape


def _dtype(arrays: list[Any]) -> type[np.floating[Any]]:
    """What NumPy promotes the numbers to, flags left out, if that is float32; else float64."""
    return np.float32 if arrays and np.result_type(*(a.dtype for a in arrays)) == np.float32 else np.float64


def _spread(value: Any, shape: tuple[int, ...]) -> float | Floats:
    """A number, or a contiguous float64 array of `shape`."""
    if isinstance(value, float | int) or value.ndim == 0:
        return float(value)
    if value.dtype is _FLOAT64 and value.shape == shape and value.flags.c_contiguous:
        return value  # type: ignore[no-any-return]
    return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.float64), shape))
