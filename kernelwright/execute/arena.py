"""Shared memory that the judge owns: how a kernel's outputs reach the worker that compares them.

The memory has no name, cannot be shrunk (a candidate could otherwise make its readers fault), and
is mapped only for the length of a copy. The reader copies before it looks, so what a candidate
writes later changes nothing.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence
from typing import Any

from kernelwright.core.errors import EnvironmentFault

ALIGNMENT = 64
_F_ADD_SEALS, _F_SEAL_SHRINK = 1033, 2


class Arena:
    """Anonymous shared memory in this process; `fd` is passed to workers."""

    def __init__(self) -> None:
        try:
            self.fd = os.memfd_create("kernelwright", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            fcntl.fcntl(self.fd, _F_ADD_SEALS, _F_SEAL_SHRINK)
        except OSError as error:
            raise EnvironmentFault(
                f"no shared memory between workers: {error}; a Linux kernel has it"
            ) from error
        self.nbytes = 0

    def reserve(self, nbytes: int) -> None:
        """Make it at least so large."""
        if nbytes > self.nbytes:
            try:
                os.ftruncate(self.fd, nbytes)
            except OSError as error:
                raise EnvironmentFault(
                    f"no shared memory of {nbytes} bytes: {error}; free some memory"
                ) from error
            self.nbytes = nbytes

    def close(self) -> None:
        """Give the memory back once no worker maps it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def offsets(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Where tensors of these byte sizes lie in an arena, and the bytes that they need together."""
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return starts, end


def write(fd: int, tensors: Sequence[Any]) -> None:
    """Copy CPU tensors into the arena, one behind the other."""
    import torch

    starts, total = offsets([tensor.nbytes for tensor in tensors])
    if total == 0:
        return
    with mmap.mmap(fd, total) as mapped:
        view = torch.frombuffer(mapped, dtype=torch.uint8)
        for start, tensor in zip(starts, tensors, strict=True):
            view[start : start + tensor.nbytes].copy_(_bytes(tensor))
        del view


def read(fd: int, layout: Sequence[tuple[Any, tuple[int, ...]]]) -> list[Any]:
    """New tensors of these dtypes and shapes, copied out of the arena."""
    import torch

    tensors = [torch.empty(shape, dtype=dtype) for dtype, shape in layout]
    starts, total = offsets([tensor.nbytes for tensor in tensors])
    if total == 0:
        return tensors
    with mmap.mmap(fd, total) as mapped:
        view = torch.frombuffer(mapped, dtype=torch.uint8)
        for start, tensor in zip(starts, tensors, strict=True):
            _bytes(tensor).copy_(view[start : start + tensor.nbytes])
        del view
    return tensors


def _bytes(tensor: Any) -> Any:
    import torch

    return tensor.contiguous().view(-1).view(torch.uint8)
