"""Chains of literals: x * a * b, x + a + b, and operations that change nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch
from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten, is_float, is_number, only_reader, same_type
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

_NEUTRAL = {"mul": 1, "div": 1, "add": 0, "sub": 0}


def _merged(draft: Draft, node: fx.Node) -> fx.Node | None:
    literal = _literal(node)
    if literal is None:
        return None
    x, value = literal
    if value == _NEUTRAL[op_name(node)] and shape_of(x) == shape_of(node):
        return x
    inner = _literal(x)
    if inner is None or not only_reader(x):
        return None
    source, first = inner
    kinds = op_name(x), op_name(node)
    if kinds not in _TOGETHER:
        return None
    target, joined = _TOGETHER[kinds]
    both = joined(first, value)
    if not _is_plain(node, both):
        return None
    return draft.call(target, source, both)


def _literal(node: fx.Node) -> tuple[fx.Node, float] | None:
    """(x, a) of an operation of a floating tensor x with a literal a."""
    if op_name(node) not in _NEUTRAL or node.kwargs or len(node.args) != 2 or not is_float(node):
        return None
    x, value = node.args
    if not isinstance(x, fx.Node) or not same_type(x, node) or not is_number(value):
        return None
    return x, float(value)  # type: ignore[arg-type]


def _is_plain(node: fx.Node, value: float) -> bool:
    """Whether a literal keeps all its digits in the node's type: it neither overflows nor vanishes."""
    limits = torch.finfo(node.meta["val"].dtype)
    return limits.smallest_normal <= abs(value) <= limits.max


_TOGETHER: dict[tuple[str, str], tuple[object, Callable[[float, float], float]]] = {
    ("mul", "mul"): (aten.mul.Tensor, operator.mul),
    ("div", "div"): (aten.div.Tensor, operator.mul),
    ("mul", "div"): (aten.mul.Tensor, lambda a, b: a / b if b else 0.0),
    ("div", "mul"): (aten.mul.Tensor, lambda a, b: b / a if a else 0.0),
    ("add", "add"): (aten.add.Tensor, operator.add),
    ("sub", "sub"): (aten.sub.Tensor, operator.add),
    ("add", "sub"): (aten.add.Tensor, operator.sub),
    ("sub", "add"): (aten.add.Tensor, lambda a, b: b - a),
}

CONSTANTS = Rule(
    "constants merged",
    "literals are multiplied or added in float64 and rounded once; not where the result would vanish or"
    " overflow. A value that overflowed on the way may be finite: float64 has it so too",
    _merged,
)
