"""Tensors of torch as memory: which are taken, and how autograd is told that one was written.

torch is never imported here: who gives a tensor has done it. Not covered: an array that shares a tensor's
memory (`tensor.numpy()`), whose changes autograd does not see from NumPy either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError, first_line


def is_tensor(buffer: Any) -> bool:
    """Whether it is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(buffer, torch.Tensor)


def array_of(tensor: Any, what: str, writable: bool) -> np.ndarray[Any, np.dtype[Any]]:
    """The tensor's bytes.

    UsageError that begins with `what` for a tensor elsewhere than on the CPU, one with gaps, one that has no
    plain memory (sparse, nested, conjugated when it is read), and for one that requires grad where it is to
    be written.
    """
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise UsageError(
            f"{what} is a tensor on {tensor.device}; datatypes are packed on the CPU: use .cpu()"
        )
    if tensor.layout is not torch.strided:
        raise UsageError(f"{what} is a tensor of layout {tensor.layout}; use .to_dense()")
    if writable and tensor.requires_grad:
        raise UsageError(
            f"{what} is a tensor that requires grad, and autograd does not follow what is written here; give "
            "its .detach()"
        )
    if tensor.is_conj() or tensor.is_neg():
        raise UsageError(
            f"{what} is a tensor that is conjugated or negated when it is read; use .resolve_conj() or "
            ".resolve_neg()"
        )
    if not tensor.is_contiguous():
        raise UsageError(f"{what} is a tensor with gaps (strides {tensor.stride()}); use .contiguous()")
    try:
        array: np.ndarray[Any, np.dtype[Any]] = tensor.detach().view(-1).view(torch.uint8).numpy()
    except (RuntimeError, TypeError) as error:
        raise UsageError(
            f"{what} is a tensor without plain memory ({first_line(error)}); give an ordinary one"
        ) from error
    return array


def change_of(buffer: Any) -> Callable[[], None] | None:
    """What is called when `buffer` is written, so that a gradient that needs its old values raises.

    None where autograd follows no such thing: for all but tensors, and for those of inference mode.
    """
    if type(buffer) is np.ndarray or not is_tensor(buffer) or buffer.is_inference():
        return None
    increment = sys.modules["torch"].autograd.graph.increment_version
    return lambda: increment(buffer)
