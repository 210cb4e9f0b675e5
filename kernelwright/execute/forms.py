"""What a call looks like, as a key: calls of one form are answered by the same hand.

    form = form_of(args, kwargs)        # None for a call that nobody can answer but the original

In it are shapes, strides and types of tensors, what is no tensor with its type, and the names of arguments
by name. Not in it: what may differ between tensors of one form (device, class, whether gradients are wanted);
whoever answers looks at that in each call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

Form = tuple[Any, ...]
_EXACT = (bool, int, str)


def form_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Form | None:
    """The form of one call; None where a tensor is of a class of its own or has no strides, or a tracer."""
    found: list[Any] = []
    try:
        for value in args if not kwargs else (*args, *kwargs, *kwargs.values()):
            kind = type(value)
            if kind is torch.Tensor or kind is torch.nn.Parameter:
                found.append((value.shape, value.stride(), value.dtype))
            elif value is None:
                found.append(None)
            elif isinstance(value, (torch.Tensor, fx.Proxy)):
                return None
            else:
                found.append(_plain(value))
    except (RuntimeError, NotImplementedError):  # sparse, nested and opaque tensors
        return None
    return tuple(found)


def _plain(value: Any) -> Any:
    """Equal for what is the same: 1, 1.0 and True are not, nor are 0.0 and -0.0."""
    kind = type(value)
    if kind in _EXACT:
        return kind, value
    return (kind, repr(value)) if kind is float else _nested(value)


def _nested(value: Any) -> Any:
    leaves, spec = pytree.tree_flatten(value)
    return tuple(map(_leaf, leaves)), str(spec)


def _leaf(leaf: Any) -> Any:
    kind = type(leaf)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        return leaf.shape, leaf.stride(), leaf.dtype
    return kind, "" if isinstance(leaf, torch.Tensor) else repr(leaf)
