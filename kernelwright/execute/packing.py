"""`Packing`: how the arguments of calls lie one behind the other in one stretch of memory.

    packing = Packing.of(args)
    sets = [packing.views(flat, number) for number in range(calls)]      as `forward` takes them

Maker and taker of a parcel derive the same packing from the same draw. Types, shapes and strides are the
draw's; values that are no tensors are the draw's too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

_ALIGNED = 512
"""Bytes; as torch's own allocator aligns."""


@dataclass(frozen=True)
class _Form:
    """One tensor: how it lies, and at how many bytes from the begin of its set."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    first: int

    @property
    def nbytes(self) -> int:
        """From its first element to its last."""
        if 0 in self.shape:
            return 0
        steps = sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))
        return (steps + 1) * self.dtype.itemsize


@dataclass(frozen=True)
class Packing:
    """Where each tensor of one set of arguments lies."""

    leaves: tuple[Any, ...]
    """A form for each tensor; other values as they are."""
    tree: pytree.TreeSpec
    nbytes: int
    """Of one set; the next one begins behind it."""

    @classmethod
    def of(cls, args: Sequence[Any]) -> Packing:
        """The packing of arguments like these."""
        values, tree = pytree.tree_flatten(list(args))
        leaves, end = [], 0
        for value in values:
            if isinstance(value, torch.Tensor):
                value = _Form(value.dtype, tuple(value.shape), value.stride(), end)
                end += -(-value.nbytes // _ALIGNED) * _ALIGNED
            leaves.append(value)
        return cls(tuple(leaves), tree, end)

    def views(self, flat: torch.Tensor, number: int) -> list[Any]:
        """Set `number` of those that lie in `flat`, bytes on one device."""
        begin = number * self.nbytes
        values = [_view(flat, begin, leaf) if isinstance(leaf, _Form) else leaf for leaf in self.leaves]
        found: list[Any] = pytree.tree_unflatten(values, self.tree)
        return found


def _view(flat: torch.Tensor, begin: int, form: _Form) -> torch.Tensor:
    first = begin + form.first
    elements = flat[first : first + form.nbytes].view(form.dtype)
    return elements.as_strided(form.shape, form.stride, elements.storage_offset())
