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


def plain(value: Any) -> Any:
    """A number or a NumPy array with the contents of `value`."""
    if isinstance(value, float | int | np.ndarray):
        return value
    if _is(value, "torch", "Tensor"):
        return _of_tensor(value)
    return value.to_numpy() if _is(value, "pandas", "Series") else np.asarray(value)


def wrap_of(values: tuple[Any, ...]) -> Wrap | None:
    """How results go back to the container of these arguments; None for numbers and arrays.

    UsageError for Series that are not indexed alike, which would pair options wrongly.
    """
    series = [value for value in values if _is(value, "pandas", "Series")]
    if series:
        first = series[0]
        if any(not first.index.equals(other.index) for other in series[1:]):
            raise UsageError("Series with different indexes were given; align them first (Series.align)")
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
    return tensor.numpy()
