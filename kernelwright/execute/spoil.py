"""Overwrite results before their memory is free again, so that no call finds an answer ready.

The allocator gives a freed block to the next call that wants its size. If a baseline's result lay
there, a kernel that does nothing would look right. The byte is drawn anew each time: a kernel that
looks for a fixed pattern, to work only while it is being checked, does not find one.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree


def spoil(result: Any, spare: Sequence[Any]) -> None:
    """Fill the memory of a result's tensors with one random byte; on a device this is enqueued.

    Memory of tensors in `spare` (arguments, weights) is left alone: a reference may return what it got.
    """
    kept = {leaf.untyped_storage().data_ptr() for leaf in _tensors(spare)}
    for leaf in _tensors(result):
        storage = leaf.untyped_storage()
        if storage.data_ptr() not in kept and storage.nbytes():
            kept.add(storage.data_ptr())
            flat = torch.empty(0, dtype=torch.uint8, device=leaf.device).set_(storage)
            flat.fill_(secrets.randbelow(256))


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
