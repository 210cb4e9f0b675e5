"""Products and convolutions as rules see them: operands, bias, and the dimension of the output channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import fx

from kernelwright.graph.atoms import Mismatch
from kernelwright.graph.rewrites.base import Draft, aten, is_float
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of


@dataclass(frozen=True)
class Product:
    """`left` times `right`, plus a `bias` of one element per output channel."""

    kind: str
    """`mm`, `bmm` or `convolution`; a product with a bias is an `mm`."""
    left: fx.Node
    right: fx.Node
    """Of a convolution, the weight."""
    bias: fx.Node | None
    channel: int
    """Dimension of the result that `right` and the bias vary along."""
    of_right: int
    """The same dimension of `right`."""
    rest: tuple[Any, ...] = ()
    """Of a convolution, what stands behind the bias."""

    @property
    def takes_bias(self) -> bool:
        """Whether there is an operation for this product with a bias."""
        return self.kind != "bmm"

    def written(self, draft: Draft) -> fx.Node:
        """Add it to the graph."""
        if self.kind == "convolution":
            return draft.call(aten.convolution.default, self.left, self.right, self.bias, *self.rest)
        if self.kind == "bmm":
            assert self.bias is None
            return draft.call(aten.bmm.default, self.left, self.right)
        if self.bias is None:
            return draft.call(aten.mm.default, self.left, self.right)
        return draft.call(aten.addmm.default, self.bias, self.left, self.right)

    def of(self, right: fx.Node, bias: fx.Node | None) -> Product:
        """The same with another right operand and bias."""
        return replace(self, right=right, bias=bias)


def product_of(node: Any) -> Product | None:
    """The product that a node is, if it is one that rules move things through."""
    if not isinstance(node, fx.Node) or not is_float(node) or node.kwargs:
        return None
    match op_name(node):
        case "mm":
            return Product("mm", node.args[0], node.args[1], None, 1, 1)  # type: ignore[arg-type]
        case "bmm":
            return Product("bmm", node.args[0], node.args[1], None, 2, 2)  # type: ignore[arg-type]
        case "addmm" if len(node.args) == 3 and len(shape_of(node.args[0])) == 1:  # type: ignore[arg-type]
            bias, left, right = node.args
            whole = shape_of(bias)[0] == shape_of(node)[1]  # type: ignore[arg-type]
            return Product("mm", left, right, bias, 1, 1) if whole else None  # type: ignore[arg-type]
        case "convolution":
            return _convolution(node)
    return None


def _convolution(node: fx.Node) -> Product | None:
    left, right, bias, *rest = node.args
    transposed, groups = bool(rest[3]), rest[5]
    if transposed and groups != 1:
        return None
    return Product("convolution", left, right, bias, 1, int(transposed), tuple(rest))  # type: ignore[arg-type]


def is_product(node: fx.Node) -> bool:
    """Whether a node is such a product."""
    try:
        return product_of(node) is not None
    except Mismatch:
        return False
