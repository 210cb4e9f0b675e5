"""Other contents in the memory of arguments that are there already: addresses stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree


def refill(onto: Sequence[Any], source: Sequence[Any]) -> None:
    """Copy the tensors of `source` into those of `onto`, which are nested alike and have the same shapes."""
    with torch.no_grad():
        for value, place in zip(_leaves(source), _leaves(onto), strict=True):
            if isinstance(value, Tensor):
                _distinct(place).copy_(_distinct(value))


def alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether tensors have the same types and shapes, and all else is equal."""
    return [_form(leaf) for leaf in _leaves(one)] == [_form(leaf) for leaf in _leaves(other)]


def _leaves(arguments: Sequence[Any]) -> list[Any]:
    return list(pytree.tree_leaves(list(arguments)))


def _distinct(tensor: Tensor) -> Tensor:
    """Without the dimensions in which it was expanded, whose elements are one in memory."""
    index = [slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride()]
    return tensor[tuple(index)]


def _form(leaf: Any) -> Any:
    return (leaf.dtype, leaf.shape) if isinstance(leaf, Tensor) else leaf
