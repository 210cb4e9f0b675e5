"""Views of views, and views that change nothing."""

from __future__ import annotations

from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

_SHAPED = ("view", "_unsafe_view", "expand")


def _simpler(draft: Draft, node: fx.Node) -> fx.Node | None:
    name = op_name(node)
    if name == "permute":
        return _permuted(draft, node)
    if name not in _SHAPED:
        return None
    (source, *_) = node.all_input_nodes
    if shape_of(node) == shape_of(source):
        return source
    if name == "view" and op_name(source) == "view":
        return draft.view(source.all_input_nodes[0], shape_of(node)) if _contiguous(source) else None
    return None


def _permuted(draft: Draft, node: fx.Node) -> fx.Node | None:
    (source, *_) = node.all_input_nodes
    rank = len(shape_of(node))
    order = _order(node, rank)
    if order == list(range(rank)):
        return source
    if op_name(source) != "permute":
        return None
    inner = _order(source, rank)
    return draft.call(aten.permute.default, source.args[0], [inner[at] for at in order])


def _order(node: fx.Node, rank: int) -> list[int]:
    given: Any = node.args[1]
    return [int(dim) % rank for dim in given]


def _contiguous(node: fx.Node) -> bool:
    return bool(node.all_input_nodes[0].meta["val"].is_contiguous())


RESHAPED = Rule("views merged", "a view computes nothing", _simpler)
