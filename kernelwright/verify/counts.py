"""Operation counts of a captured graph, for the factor of the precision contract.

Read off the decomposed graph: the longest reduction (elements folded into one: a sum, a mean, an
inner product, a convolution's window) and how many operations round. Views, comparisons, maxima,
negations and copies do not round. An operation that is not known counts as one rounding.

Not covered: how roundings share operands; all of them are taken to be on one path.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch import Tensor, fx

from kernelwright.graph.capture import Captured
from kernelwright.verify.bounds import Counts

_EXACT = frozenset({
    "view", "expand", "permute", "squeeze", "unsqueeze", "clone", "copy", "slice", "select", "cat",
    "transpose", "t", "alias", "detach", "_unsafe_view", "as_strided", "reshape", "constant_pad_nd",
    "split", "split_with_sizes", "unbind", "flip", "index", "gather", "index_select", "embedding", "full",
    "full_like", "scalar_tensor", "arange", "empty", "zeros", "zeros_like", "ones", "ones_like", "eq", "ne",
    "lt", "le", "gt", "ge", "where", "neg", "abs", "relu", "maximum", "minimum", "clamp", "clamp_min",
    "clamp_max", "amax", "amin", "max", "min", "argmax", "argmin", "sign", "floor", "ceil", "round",
    "trunc", "logical_not", "logical_and", "logical_or", "isnan", "isinf", "topk", "sort",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "_to_copy", "getitem", "lift_fresh_copy",
})  # fmt: skip
_PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot"})
_FOLDS = frozenset({"sum", "mean", "prod", "var", "var_mean", "std", "cumsum", "logsumexp", "norm"})


def operation_counts(captured: Captured) -> Counts:
    """Counts of the decomposed graph at the sizes that it was captured with."""
    longest, roundings = 1, 0
    for node in captured.nodes:
        name = _name(node)
        if name in _EXACT or not _floating(node):
            continue
        roundings += 1
        longest = max(longest, _folded(name, node))
    return Counts(reduction=longest, roundings=max(roundings, 1))


def _folded(name: str, node: fx.Node) -> int:
    """How many elements go into one of the result's."""
    inputs = _values(node.all_input_nodes)
    if name in _PRODUCTS:
        return int(inputs[-1].shape[-2 if inputs[-1].dim() > 1 else -1])
    if "convolution" in name:
        return max(inputs[1].numel() // max(inputs[1].shape[0], 1), 1)
    if name == "cumsum" or name in _FOLDS or "pool" in name:
        result = _value(node)
        size = inputs[0].numel() if inputs else 1
        whole = 1 if result is None or name == "cumsum" else max(result.numel(), 1)
        return max(math.ceil(size / whole), 1)
    return 1


def _name(node: fx.Node) -> str:
    packet = getattr(node.target, "overloadpacket", None)
    return str(getattr(packet, "__name__", getattr(node.target, "__name__", node.target)))


def _floating(node: fx.Node) -> bool:
    value = _value(node)
    return value is None or value.is_floating_point()


def _value(node: fx.Node) -> Tensor | None:
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)) and value:
        value = value[0]
    return value if isinstance(value, Tensor) else None


def _values(nodes: Iterable[fx.Node]) -> list[Tensor]:
    return [value for value in map(_value, nodes) if value is not None]
