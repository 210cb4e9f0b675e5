"""What scales or shifts the output channels of a product, moved into its weights and its bias.

(x @ W + b) * s + t is x @ (W * s) + (b * s + t): a batch norm in eval mode, a scale, a bias behind a linear
layer or a convolution. What is computed of weights alone can be prepared, and is again when weights change.
"""

from __future__ import annotations

import math
from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten, is_float, is_number, only_reader, same_type
from kernelwright.graph.rewrites.products import Product, product_of
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

LEAST = 2.0**-60
"""Smallest literal factor, and inverse of the largest, so that weights keep their digits."""
Operand = Any
"""A literal, or a tensor with one element per output channel."""


def _absorbed(draft: Draft, node: fx.Node) -> fx.Node | None:
    name = op_name(node)
    if name not in ("mul", "div", "add", "sub") or node.kwargs or len(node.args) != 2 or not is_float(node):
        return None
    for at in (0, 1):
        found = _through_view(node.args[at])
        if found is None or shape_of(found[1]) != shape_of(node) or (name == "div" and at == 1):
            continue
        product, seen = found
        if name in ("add", "sub") and not product.takes_bias:
            continue
        operand = _along_channels(draft, node, node.args[1 - at], product, seen)
        if operand is None:
            continue
        if name == "sub" and at == 1:
            product, name = _scaled(draft, product, "mul", -1.0), "add"
        new = (_scaled if name in ("mul", "div") else _shifted)(draft, product, name, operand)
        return draft.view(new.written(draft), shape_of(node))
    return None


def _through_view(node: Any) -> tuple[Product, fx.Node] | None:
    """(product, node) where the node is a product that nothing else reads, or its rows in another shape."""
    if not isinstance(node, fx.Node) or not only_reader(node):
        return None
    found = product_of(node)
    if found is not None:
        return found, node
    if op_name(node) not in ("view", "_unsafe_view"):
        return None
    (source, *_) = node.all_input_nodes
    found = product_of(source) if only_reader(source) else None
    if found is None or found.kind == "convolution" or shape_of(source)[-1:] != shape_of(node)[-1:]:
        return None
    return found, node


def _along_channels(
    draft: Draft, node: fx.Node, value: Any, product: Product, seen: fx.Node
) -> Operand | None:
    """The other operand as a literal or a vector; None if it varies along anything but the channels."""
    if is_number(value):
        return float(value) if _is_safe(op_name(node), value) else None
    if not isinstance(value, fx.Node) or not same_type(value, node) or not draft.is_fixed(value):
        return None
    rank = len(shape_of(seen))
    channel = product.channel if product.kind == "convolution" else rank - 1
    shape = shape_of(value)
    padded = [1] * (rank - len(shape)) + shape
    if len(padded) != rank or any(size != 1 for dim, size in enumerate(padded) if dim != channel):
        return None
    return draft.view(value, [padded[channel]])


def _is_safe(name: str, value: float) -> bool:
    """Whether a literal, as a factor or a summand, leaves weights finite and with all their digits."""
    return math.isfinite(value) if name in ("add", "sub") else LEAST <= abs(value) <= 1 / LEAST


def _scaled(draft: Draft, product: Product, name: str, operand: Operand) -> Product:
    op = {"mul": aten.mul.Tensor, "div": aten.div.Tensor}[name]
    factor = operand
    if isinstance(operand, fx.Node):
        rank = len(shape_of(product.right))
        shape = [-1 if dim == product.of_right else 1 for dim in range(rank)]
        factor = draft.view(operand, [shape_of(operand)[0] if size == -1 else 1 for size in shape])
    bias = None if product.bias is None else draft.call(op, product.bias, operand)
    return product.of(draft.call(op, product.right, factor), bias)


def _shifted(draft: Draft, product: Product, name: str, operand: Operand) -> Product:
    op = {"add": aten.add.Tensor, "sub": aten.sub.Tensor}[name]
    bias = product.bias
    if bias is None:
        value = product.right.meta["val"]
        channels = shape_of(product.right)[product.of_right]
        bias = draft.call(aten.full.default, [channels], 0.0, dtype=value.dtype, device=value.device)
    return product.of(product.right, draft.call(op, bias, operand))


ABSORBED = Rule(
    "scales and shifts of channels moved into weights",
    "distributive law. Each weight is rounded once more, which is a relative change of the weight by one"
    " roundoff; weights are finite, so NaN and infinities of inputs go where they went",
    _absorbed,
)
