"""Sums and means moved through products: sum over j of (x @ W)[i, j] is x[i, :] @ (sum over j of W[:, j])."""

from __future__ import annotations

from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten, only_reader, reduced_dims, same_type
from kernelwright.graph.rewrites.products import Product, product_of
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of


def _moved(draft: Draft, node: fx.Node) -> fx.Node | None:
    if op_name(node) not in ("sum", "mean") or node.kwargs:
        return None
    (source, *_) = node.all_input_nodes
    if not only_reader(source) or not same_type(node, source):
        return None
    dims, product = reduced_dims(node), product_of(source)
    if product is None:
        product, dims = _of_rows(source, dims)
    if product is None:
        return None
    folded = _convolved(draft, node, product, dims) if product.kind == "convolution" else None
    if folded is None and product.kind != "convolution":
        folded = _multiplied(draft, node, product, dims)
    return None if folded is None else draft.view(folded, shape_of(node))


def _of_rows(view: fx.Node, dims: list[int]) -> tuple[Product | None, list[int]]:
    """The product behind a view that keeps its rows, where a row is folded."""
    if op_name(view) not in ("view", "_unsafe_view") or dims != [len(shape_of(view)) - 1]:
        return None, dims
    (source, *_) = view.all_input_nodes
    product = product_of(source) if only_reader(source) else None
    if product is None or product.kind != "mm" or shape_of(source)[-1] != shape_of(view)[-1]:
        return None, dims
    return product, [1]


def _fold(draft: Draft, node: fx.Node, value: fx.Node, dims: list[int], keep: bool = True) -> fx.Node:
    """The reduction that `node` is, over dimensions of another tensor."""
    target: Any = node.target
    return draft.call(target, value, dims, keep)


def _multiplied(draft: Draft, node: fx.Node, product: Product, dims: list[int]) -> fx.Node | None:
    """Rows, columns or both of a matrix product; what is left is a sum along the inner dimension."""
    batch = 1 if product.kind == "bmm" else 0
    rows, columns = batch in dims, batch + 1 in dims
    if not (rows or columns) or any(dim < batch for dim in dims):
        return None
    left = _fold(draft, node, product.left, [batch]) if rows else product.left
    right = _fold(draft, node, product.right, [batch + 1]) if columns else product.right
    if rows and not columns:
        inner = draft.call(aten.mul.Tensor, draft.call(aten.permute.default, left, _swapped(batch)), right)
        result = draft.call(aten.sum.dim_IntList, inner, [batch], True)
    else:
        order, one_sign = _swapped(batch), _of_one_sign(draft, product.right, [batch + 1])
        result = _dotted(
            draft,
            left,
            draft.call(aten.permute.default, right, order),
            draft.call(aten.permute.default, one_sign, order),
            batch + 1,
        )
    if product.bias is None:
        return result
    bias = _fold(draft, node, product.bias, [0]) if columns else product.bias
    if rows and op_name(node) == "sum":
        bias = draft.call(aten.mul.Tensor, bias, float(shape_of(product.left)[0]))
    return draft.call(aten.add.Tensor, result, bias)


def _of_one_sign(draft: Draft, terms: fx.Node, dims: list[int]) -> fx.Node:
    """Where all terms of a sum are above zero, or all below."""
    above = draft.call(aten.gt.Scalar, draft.call(aten.amin.default, terms, dims, True), 0.0)
    below = draft.call(aten.lt.Scalar, draft.call(aten.amax.default, terms, dims, True), 0.0)
    return draft.call(aten.logical_or.default, above, below)


def _dotted(draft: Draft, left: fx.Node, right: fx.Node, one_sign: fx.Node, dim: int) -> fx.Node:
    """Sum of `left * right` over a dimension, kept, where `right` is a sum itself.

    An infinite element of `left` meets each term of that sum. If they have both signs, infinities of both
    meet in the result, or 0 meets infinity: it is NaN, whatever their sum.
    """
    value = left.meta["val"]
    zero = draft.call(aten.full.default, [], 0.0, dtype=value.dtype, device=value.device)
    wild = draft.call(aten.where.self, one_sign, zero, draft.call(aten.mul.Tensor, left, 0.0))
    terms = draft.call(aten.add.Tensor, draft.call(aten.mul.Tensor, left, right), wild)
    return draft.call(aten.sum.dim_IntList, terms, [dim], True)


def _swapped(batch: int) -> list[int]:
    return [*range(batch), batch + 1, batch]


def _convolved(draft: Draft, node: fx.Node, product: Product, dims: list[int]) -> fx.Node | None:
    """Channels of a convolution; or all places of a transposed one, each input element of which meets
    every element of the window."""
    rank = len(shape_of(product.left))
    _, padding, _, transposed, _, groups = product.rest
    if dims == [1] and groups == 1:
        right = _fold(draft, node, product.right, [product.of_right])
        bias = None if product.bias is None else _fold(draft, node, product.bias, [0])
        return product.of(right, bias).written(draft)
    if dims != list(range(2, rank)) or not transposed or any(padding):
        return None
    places = list(range(2, rank))
    images, channels = shape_of(product.left)[:2]
    inputs = draft.call(aten.sum.dim_IntList, product.left, places, False)
    weights = draft.call(aten.sum.dim_IntList, product.right, places, False)
    one_sign = draft.view(_of_one_sign(draft, product.right, places), shape_of(weights))
    column = draft.view(inputs, [images, channels, 1])
    result = draft.view(_dotted(draft, column, weights, one_sign, 1), [images, shape_of(weights)[1]])
    count = 1
    for size in shape_of(node.all_input_nodes[0])[2:]:
        count *= size
    if op_name(node) == "mean":
        result = draft.call(aten.div.Tensor, result, float(count))
    if product.bias is None:
        return result
    bias = product.bias
    if op_name(node) == "sum":
        bias = draft.call(aten.mul.Tensor, bias, float(count))
    return draft.call(aten.add.Tensor, result, bias)


SUMS = Rule(
    "sums moved through products",
    "distributive law. The sum over weights is what a backward stable sum gives: the result is exact for"
    " weights moved by some roundoffs. NaN and infinities are where they were, but for a sum over channels of"
    " a convolution: where infinities of both signs meet there, the result is NaN or infinite",
    _moved,
)
