"""Reductions of one element: a sum, mean or extreme over dimensions of size 1, logsumexp of one column."""

from __future__ import annotations

import math
from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, peeled, reduced_dims, same_type
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

_FOLDS = ("sum", "mean", "amax", "amin")


def _itself(draft: Draft, node: fx.Node) -> fx.Node | None:
    if op_name(node) not in _FOLDS:
        return None
    (source, *_) = node.all_input_nodes
    shape = shape_of(source)
    if not shape or not same_type(node, source) or any(shape[dim] != 1 for dim in reduced_dims(node)):
        return None
    return draft.view(source, shape_of(node))


def _one_logsumexp(draft: Draft, node: fx.Node) -> fx.Node | None:
    """log(exp(x - m)) + m, where m is x, or 0 where x is infinite."""
    if op_name(node) != "add" or len(node.all_input_nodes) != 2 or node.kwargs:
        return None
    log, m = peeled(node.args[0]), peeled(node.args[1])
    exp = _argument(log, "log")
    shifted = _argument(exp, "exp")
    if op_name(shifted) != "sub" if isinstance(shifted, fx.Node) else True:
        return None
    x, taken = peeled(shifted.args[0]), peeled(shifted.args[1])
    if taken is not m or not _is_finite_part(m, x):
        return None
    return draft.view(x, shape_of(node))


def _argument(node: Any, name: str) -> Any:
    return peeled(node.args[0]) if isinstance(node, fx.Node) and op_name(node) == name else None


def _is_finite_part(m: Any, x: Any) -> bool:
    """where(|x| == inf, 0, x)."""
    if not isinstance(m, fx.Node) or op_name(m) != "where":
        return False
    test, zero, kept = (peeled(arg) for arg in m.args)
    if kept is not x or not isinstance(test, fx.Node) or op_name(test) != "eq" or test.args[1] != math.inf:
        return False
    return _argument(test.args[0], "abs") is x and is_full_of(zero, 0)


def is_full_of(node: Any, value: float) -> bool:
    """Whether a tensor is one literal throughout."""
    if not isinstance(node, fx.Node) or op_name(node) not in ("full", "full_like", "scalar_tensor"):
        return node == value if isinstance(node, int | float) else False
    return bool((node.args[0] if op_name(node) == "scalar_tensor" else node.args[1]) == value)


SINGLE = Rule(
    "reduction of one element left out",
    "a sum, mean or extreme of one element is that element, NaN and infinities too; nothing is rounded",
    _itself,
)
ONE_LOGSUMEXP = Rule(
    "logsumexp of one element left out",
    "log(exp(x)) is x by definition; torch returns x also for NaN and infinities; a rounding less",
    _one_logsumexp,
)
