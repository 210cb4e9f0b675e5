"""Chains of views: what tensor they end at, and whether they only reshape, only permute, or are strided."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from kernelwright.graph.nest import contiguous_strides
from kernelwright.graph.views import shape_of, view_name

_RESHAPES = frozenset({
    "view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "flatten", "alias", "detach", "clone",
    "lift_fresh_copy", "contiguous",
})  # fmt: skip


def viewed(node: fx.Node) -> fx.Node:
    """The tensor that a chain of views is of."""
    while view_name(node) is not None:
        node = node.all_input_nodes[0]
    return node


def only_reshaped(node: fx.Node) -> bool:
    """Whether the elements keep their order in memory."""
    while view_name(node) is not None:
        if view_name(node) not in _RESHAPES:
            return False
        node = node.all_input_nodes[0]
    return True


def only_permuted(node: fx.Node) -> bool:
    """Whether the chain exchanges dimensions and does nothing else."""
    while view_name(node) is not None:
        if view_name(node) not in ("permute", "transpose", "t"):
            return False
        node = node.all_input_nodes[0]
    return True


def stays_inside(node: fx.Node, inside: set[fx.Node]) -> bool:
    """Whether only members read the node, through views or not."""
    return bool(node.users) and all(
        user in inside or (view_name(user) is not None and stays_inside(user, inside)) for user in node.users
    )


def strided(node: fx.Node) -> tuple[list[int], list[int], int] | None:
    """Shape, strides and offset of a view of a contiguous buffer; None where it is no such view."""
    chain = [node]
    while view_name(chain[-1]) is not None:
        chain.append(chain[-1].all_input_nodes[0])
    base = chain.pop()
    shape = shape_of(base)
    view = torch.empty(1, device="meta").as_strided(shape, contiguous_strides(shape))
    for step in reversed(chain):
        if view_name(step) in ("clone", "contiguous", "reshape"):
            if not view.is_contiguous():
                return None
            view = view.view(shape_of(step))
            continue
        operation: Any = step.target
        try:
            view = operation(view, *step.args[1:])
        except RuntimeError:
            return None
    return list(view.shape), list(view.stride()), int(view.storage_offset())
