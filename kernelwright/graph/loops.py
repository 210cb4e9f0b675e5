"""The loop form: one fused region of a graph as a loop nest over named dimensions.

A region iterates over `dims`; those in `reduced` are folded by its `Reduce` nodes, the others are
kept. Nodes are in static single assignment, referred to by their index. Softmax over the last of
two dimensions is

    dims (rows, cols), reduced {1}
    0 Load x        full   phase 0
    1 Reduce max 0  kept   phase 1
    2 Apply sub 0 1 full   phase 1
    3 Apply exp 2   full   phase 1
    4 Reduce sum 3  kept   phase 2
    5 Apply div 3 4 full   phase 2
    store y 5

A node's *phase* is the number of reductions on the longest path to it: a template makes one pass
over the reduced dimensions for each phase, and may keep what it read. A node is *full* if it
varies along a reduced dimension, else *kept*. Arithmetic is in `compute_dtype`; loads and stores
convert. What a loop nest cannot say (products, convolutions, gathers) stays a library step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kernelwright.core.dtypes import Dtype
from kernelwright.core.expr import Expr

ReduceOp = Literal["sum", "max", "min", "prod"]

POINTWISE = frozenset({
    # one argument
    "neg", "abs", "exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal", "sin", "cos",
    "tanh", "sigmoid", "erf", "relu", "floor", "ceil", "round", "trunc", "sign", "logical_not", "isnan",
    "cast",
    # two arguments
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmod", "remainder", "atan2",
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "bitwise_and", "bitwise_or",
    # three arguments: condition, then, else
    "where",
})  # fmt: skip
"""Scalar operations with torch's meaning: `maximum`, `minimum` and reductions `max`, `min` propagate NaN."""


@dataclass(frozen=True, slots=True)
class Dim:
    """One loop: `size` over axes, `extent` its value at the base workload."""

    name: str
    size: Expr
    extent: int


@dataclass(frozen=True, slots=True)
class Access:
    """Element of a buffer at a loop index: `offset + sum(index[d] * strides[d])`, in elements.

    A stride of 0 broadcasts along that dimension.
    """

    buffer: str
    strides: tuple[Expr, ...]
    offset: Expr = 0


@dataclass(frozen=True, slots=True)
class Load:
    """Read `access`, stored as `dtype`."""

    access: Access
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: float | int | bool
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Index:
    """The loop index along dimension number `dim`, an int64."""

    dim: int


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The product of the sizes of these dimensions, in `dtype` (the count that a mean divides by)."""

    dims: tuple[int, ...]
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar operation of `POINTWISE` on earlier nodes; `dtype` is the result's."""

    op: str
    args: tuple[int, ...]
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Reduce:
    """Fold node `arg` over all reduced dimensions."""

    op: ReduceOp
    arg: int
    dtype: Dtype


Node = Load | Const | Index | SizeOf | Apply | Reduce


@dataclass(frozen=True, slots=True)
class Store:
    """Write node `value`, converted to `dtype`. A kept value is stored once per kept index."""

    access: Access
    value: int
    dtype: Dtype


@dataclass(frozen=True)
class Region:
    """A fused loop nest."""

    name: str
    dims: tuple[Dim, ...]
    reduced: frozenset[int]
    nodes: tuple[Node, ...]
    stores: tuple[Store, ...]
    compute_dtype: Dtype = "float32"

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """Phase of each node."""
        found: list[int] = []
        for node in self.nodes:
            before = max((found[arg] for arg in operands(node)), default=0)
            found.append(before + isinstance(node, Reduce))
        return tuple(found)

    @cached_property
    def full(self) -> tuple[bool, ...]:
        """Whether each node varies along a reduced dimension."""
        found: list[bool] = []
        for node in self.nodes:
            match node:
                case Load(access=access):
                    found.append(any(access.strides[dim] != 0 for dim in self.reduced))
                case Index(dim=dim):
                    found.append(dim in self.reduced)
                case Reduce():
                    found.append(False)
                case _:
                    found.append(any(found[arg] for arg in operands(node)))
        return tuple(found)


def operands(node: Node) -> tuple[int, ...]:
    """Indexes of the nodes that `node` reads."""
    match node:
        case Apply(args=args):
            return args
        case Reduce(arg=arg):
            return (arg,)
    return ()
