"""Products with a diagonal matrix: rows or columns scaled.

diag(a) @ B is a[:, None] * B for finite B. The product also multiplies every other element of B by 0, and
0 times NaN or infinity is NaN: so each element says NaN where another one of its column is not finite, as
the product does. That costs a second look at B, which is nothing beside the product.
"""

from __future__ import annotations

import math
from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten, is_float, same_type
from kernelwright.graph.rewrites.places import Band, masked
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

_DIAGONAL = Band("eq", 0)
LEAST = 8
"""Size of a diagonal matrix from which on scaling is less work than the product."""


def _scaled(draft: Draft, node: fx.Node) -> fx.Node | None:
    if op_name(node) != "mm" or not is_float(node):
        return None
    for side in (0, 1):
        factors = _diagonal_of(draft, node.args[side])
        other = node.args[1 - side]
        if factors is not None and isinstance(other, fx.Node) and same_type(factors, other):
            along = 0 if side == 0 else 1
            return _product(draft, factors, other, along)
    return None


def _diagonal_of(draft: Draft, node: Any) -> fx.Node | None:
    """The vector on the diagonal of a matrix that is zero elsewhere."""
    found = masked(node)
    if found is None or found[0] != _DIAGONAL:
        return None
    size, columns = shape_of(node)
    shape = shape_of(found[1])
    if size != columns or [each for each in shape if each != 1] != [size] or size < LEAST:
        return None
    return draft.view(found[1], [size])


def _product(draft: Draft, factors: fx.Node, other: fx.Node, along: int) -> fx.Node:
    """`other` with element i of dimension `along` times factors[i], and NaN where the product has it."""
    size = shape_of(factors)[0]
    scaled = draft.call(aten.mul.Tensor, other, draft.view(factors, [size, 1] if along == 0 else [1, size]))
    value = other.meta["val"]
    like = {"dtype": value.dtype, "device": value.device}
    one, zero = (draft.call(aten.full.default, [], number, **like) for number in (1.0, 0.0))
    nan = draft.call(aten.full.default, [], math.nan, **like)
    wild = draft.call(aten.isnan.default, draft.call(aten.mul.Tensor, other, 0.0))
    own = draft.call(aten.where.self, wild, one, zero)
    all_of_them = draft.call(aten.sum.dim_IntList, own, [along], True)
    others = draft.call(aten.gt.Tensor, all_of_them, own)
    return draft.call(aten.where.self, others, nan, scaled)


DIAGONAL = Rule(
    "product with a diagonal matrix as a scaling",
    "all terms but one are zero; where others are 0 times NaN or infinity the result is NaN as well."
    " One rounding in place of a sum",
    _scaled,
)
