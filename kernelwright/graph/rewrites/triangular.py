"""A product of which only a triangle is kept: computed in blocks of rows, each as wide as is kept of it."""

from __future__ import annotations

from itertools import pairwise

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten, is_float, only_reader
from kernelwright.graph.rewrites.places import Band, masked
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

BLOCKS = 8
"""Blocks of rows: 1/2 + 1/16 of the operations of a square product are left."""
LEAST_ROWS = 64
"""Rows of a block from which on its product runs about as fast as the whole one's."""


def _blocked(draft: Draft, node: fx.Node) -> fx.Node | None:
    found = masked(node)
    if found is None or found[0].relation not in ("ge", "le") or not is_float(node):
        return None
    band, product = found
    if op_name(product) != "mm" or not only_reader(product):
        return None
    rows, columns = shape_of(product)
    if rows < BLOCKS * LEAST_ROWS:
        return None
    ends = [rows * at // BLOCKS for at in range(BLOCKS + 1)]
    blocks = [
        _block(draft, product, first, end, *_columns(band, first, end, columns))
        for first, end in pairwise(ends)
    ]
    whole = draft.call(aten.cat.default, blocks)
    return draft.call(aten.where.self, node.args[0], whole, node.args[2])


def _columns(band: Band, first: int, end: int, columns: int) -> tuple[int, int]:
    """The columns of which some row of the block keeps an element; one at least."""
    low, high = (first + band.offset, columns) if band.relation == "ge" else (0, end + band.offset)
    low = min(max(low, 0), columns - 1)
    return low, max(min(high, columns), low + 1)


def _block(draft: Draft, product: fx.Node, first: int, end: int, low: int, high: int) -> fx.Node:
    left, right = product.args
    columns = shape_of(product)[1]
    part = draft.call(
        aten.mm.default,
        draft.call(aten.slice.Tensor, left, 0, first, end),
        draft.call(aten.slice.Tensor, right, 1, low, high),
    )
    return draft.call(aten.constant_pad_nd.default, part, [low, columns - high, 0, 0], 0.0)


TRIANGULAR = Rule(
    "half of a product left out that is not kept",
    "the elements that are kept are the same inner products; the others are zero whatever they were",
    _blocked,
)
