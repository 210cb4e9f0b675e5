"""What arguments may come in, and what results go back in: numbers, NumPy, pandas Series, torch tensors.

A result comes back in the container of the first argument that has one: a Series with its index and no name,
a tensor on the CPU, or an array. Neither pandas nor torch is imported unless the caller did.

Not covered: tensors on a GPU (`device`), gradients through prices (a tensor that wants one is refused),
DataFrames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError

Wrap = Callable[[Any], Any]
"""From an array, or a number, to what the caller gets."""
MOST_INT = 10**300
"""Integers beyond it are refused: the next powers of ten are no floats."""


def plain(value: Any) -> Any:
    """A Python number, or a NumPy array with the contents of `value`. UsageError for what has none."""
    if type(value) in (float, int, bool):
        return _of_number(value)
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError("a masked array was given, and a mask would be lost; use .filled() or .compressed()")
    if isinstance(value, np.ndarray):
        return value
    if _is(value, "torch", "Tensor"):
        return _of_tensor(value)
    return value.to_numpy() if _is(value, "pandas", "Series") else _of_sequence(value)


def wrap_of(values: tuple[Any, ...], shape: tuple[int, ...]) -> Wrap | None:
    """How results of `shape` go back to the container of these arguments; None for numbers and arrays.

    UsageError for Series that are not indexed alike, which would pair options wrongly, and for a Series
    beside arrays for whose options it has no index.
    """
    series = [value for value in values if _is(value, "pandas", "Series")]
    if series:
        first = series[0]
        if any(not first.index.equals(other.index) for other in series[1:]):
            raise UsageError("Series with different indexes were given; align them first (Series.align)")
        if shape != first.shape:
            raise UsageError(
                f"a Series of {len(first)} was given beside arrays that make it {shape}; "
                "give arrays of its length, or numbers, or .to_numpy()"
            )
        return lambda array: type(first)(array, index=first.index)
    if any(_is(value, "torch", "Tensor") for value in values):
        return lambda array: sys.modules["torch"].as_tensor(array)
    return None


def _is(value: Any, module: str, name: str) -> bool:
    """Whether `value` is an instance of `module.name`, which nobody can have made without importing it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


def _of_tensor(tensor: Any) -> Any:
    if tensor.device.type != "cpu":
        raise UsageError(
            f"a tensor on {tensor.device} was given; options are priced on CPU and CUDA: use .cpu()"
        )
    if tensor.requires_grad:
        raise UsageError("a tensor that requires a gradient was given; there is none: use .detach()")
    try:
        return tensor.resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError):
        raise UsageError(
            f"a tensor of {tensor.dtype} and {tensor.layout} was given, which NumPy does not know; "
            "give a dense one of float64 or float32: .double()"
        ) from None


def _of_number(value: float) -> float:
    if -MOST_INT <= value <= MOST_INT or type(value) is float:
        return value
    raise UsageError("an integer of more than 300 digits was given; give a number that a float can hold")


def _of_sequence(value: Any) -> Any:
    try:
        return np.asarray(value)
    except ValueError:
        raise UsageError(
            f"a {type(value).__name__} of lists of different lengths was given; give lists of one length"
        ) from None
