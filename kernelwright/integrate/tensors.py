"""Tensors in whatever a part takes or gives: nested, among other values; and when they are there."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """All tensors, in order."""
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def copied(tree: Any) -> Any:
    """The same with tensors of its own, apart from any graph."""
    return pytree.tree_map(
        lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, tree
    )


def wait_for_device() -> None:
    """Until a GPU has done what it was given; at once where none is in use."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
