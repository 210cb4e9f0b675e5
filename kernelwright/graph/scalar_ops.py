"""What each pointwise ATen operation is in terms of `loops.POINTWISE`.

`expand_op` writes one operation through a `Writer`: it inserts the conversions that torch's type
promotion implies and spells composite operations out (`clamp`, `rsub`, `pow` with a small whole
exponent). float16 and bfloat16 values are float32 between a load and a store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import fx

from kernelwright.core.dtypes import DTYPES, FLOATS, Dtype
from kernelwright.graph.atoms import Mismatch

Number = int | float | bool


COSTLY = frozenset({
    "exp", "exp2", "expm1", "log", "log1p", "log2", "sin", "cos", "tanh", "sigmoid", "erf", "pow", "fmod",
    "remainder", "atan2", "sqrt", "rsqrt", "reciprocal", "div",
})  # fmt: skip
"""Operations that cost more than a load."""


class Writer(Protocol):
    """Where nodes of a loop nest are written; an operand is a node's index."""

    def value(self, argument: Any, dtype: Dtype) -> int:
        """An argument of the operation (a graph node or a number), converted to `dtype`."""

    def const(self, value: Number, dtype: Dtype) -> int:
        """A literal."""

    def index(self, node: fx.Node) -> int:
        """Position along the only dimension of `node`, as int64."""

    def apply(self, op: str, args: tuple[int, ...], dtype: Dtype) -> int:
        """A scalar operation."""


def dtype_of(tensor: Any) -> Dtype:
    """Name of a tensor's element type; Mismatch if kernels have none for it."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise Mismatch(f"element type {name}")
    return name


def computed(dtype: Dtype) -> Dtype:
    """The type in which values of `dtype` are computed."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def op_name(node: fx.Node) -> str:
    """`aten` operation without its overload, or an empty text."""
    schema = getattr(node.target, "_schema", None)
    return schema.name.removeprefix("aten::") if schema is not None and node.op == "call_function" else ""


def is_pointwise(node: fx.Node) -> bool:
    """Whether `expand_op` knows the operation and its element types."""
    name = op_name(node)
    value = node.meta.get("val")
    if name not in _SAME and name not in _COMPARE and name not in _SPECIAL:
        return False
    if not isinstance(value, torch.Tensor) or str(value.dtype).removeprefix("torch.") not in DTYPES:
        return False
    if name == "div" and node.kwargs.get("rounding_mode") and not value.dtype.is_floating_point:
        return False
    if name == "bitwise_not" and value.dtype is not torch.bool:
        return False
    return "decimals" not in node.kwargs


def expand_op(node: fx.Node, writer: Writer) -> int:
    """Write the operation of `node`; the index of its result."""
    name, dtype = op_name(node), computed(dtype_of(node.meta["val"]))
    if name in _SPECIAL:
        return _SPECIAL[name](node, writer, dtype)
    if name in _COMPARE:
        common = _common(node)
        return writer.apply(name, tuple(writer.value(arg, common) for arg in node.args), "bool")
    return writer.apply(_SAME[name], tuple(writer.value(arg, dtype) for arg in node.args), dtype)


def _common(node: fx.Node) -> Dtype:
    """Type in which two arguments are compared."""
    values = [arg.meta["val"] if isinstance(arg, fx.Node) else arg for arg in node.args]
    return computed(str(torch.result_type(*values)).removeprefix("torch."))  # type: ignore[arg-type]


def _scaled(node: fx.Node, writer: Writer, dtype: Dtype, op: str, swapped: bool = False) -> int:
    left, right = node.args[:2]
    if swapped:
        left, right = right, left
    alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
    a, b = writer.value(left, dtype), writer.value(right, dtype)
    if alpha != 1:
        scale = writer.const(alpha, dtype)  # type: ignore[arg-type]
        a, b = (
            (writer.apply("mul", (a, scale), dtype), b)
            if swapped
            else (a, writer.apply("mul", (b, scale), dtype))
        )
    return writer.apply(op, (a, b), dtype)


def _div(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    quotient = writer.apply(
        "div", (writer.value(node.args[0], dtype), writer.value(node.args[1], dtype)), dtype
    )
    rounding = node.kwargs.get("rounding_mode")
    return writer.apply(str(rounding), (quotient,), dtype) if rounding else quotient


def _pow(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    base, exponent = node.args[:2]
    x = writer.value(base, dtype)
    if isinstance(exponent, fx.Node) or dtype not in FLOATS:
        if dtype not in FLOATS and exponent not in (1, 2, 3):
            raise Mismatch("an integer power")
        if isinstance(exponent, fx.Node):
            return writer.apply("pow", (x, writer.value(exponent, dtype)), dtype)
    square = writer.apply("mul", (x, x), dtype) if exponent in (2, 3) else x
    if exponent in (1, 2):
        return square
    if exponent == 3:
        return writer.apply("mul", (square, x), dtype)
    if exponent in (0.5, -0.5, -1):
        return writer.apply({0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[exponent], (x,), dtype)  # type: ignore[index]
    return writer.apply("pow", (x, writer.const(exponent, dtype)), dtype)  # type: ignore[arg-type]


def _clamp(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    low, high = (*node.args[1:3], None, None)[:2]
    low, high = node.kwargs.get("min", low), node.kwargs.get("max", high)
    x = writer.value(node.args[0], dtype)
    if low is not None:
        x = writer.apply("maximum", (x, writer.value(low, dtype)), dtype)
    if high is not None:
        x = writer.apply("minimum", (x, writer.value(high, dtype)), dtype)
    return x


def _where(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    condition = writer.value(node.args[0], "bool")
    return writer.apply(
        "where", (condition, writer.value(node.args[1], dtype), writer.value(node.args[2], dtype)), dtype
    )


def _copy(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    return writer.value(node.args[0], dtype)


def _full(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    fill = node.args[0] if op_name(node) == "scalar_tensor" else node.args[1]
    return writer.value(fill, dtype)


def _copy_into(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    return writer.value(node.args[1], dtype)


def _arange(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    given: list[Any] = list(node.args)
    start, step = (given[0], given[2]) if len(given) > 2 else (given[0] if len(given) > 1 else 0, 1)
    place = writer.index(node)
    if dtype != "int64":
        place = writer.apply("cast", (place,), dtype)
    if step != 1:
        place = writer.apply("mul", (place, writer.const(step, dtype)), dtype)
    return place if start == 0 else writer.apply("add", (place, writer.const(start, dtype)), dtype)


def _logical(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    name = op_name(node).replace("bitwise_not", "logical_not")  # the same, of a bool
    return writer.apply(name, tuple(writer.value(arg, "bool") for arg in node.args), "bool")


def _isnan(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    return writer.apply("isnan", (writer.value(node.args[0], _common_one(node)),), "bool")


def _isinf(node: fx.Node, writer: Writer, dtype: Dtype) -> int:
    kind = _common_one(node)
    x = writer.apply("abs", (writer.value(node.args[0], kind),), kind)
    return writer.apply("eq", (x, writer.const(float("inf"), kind)), "bool")


def _common_one(node: fx.Node) -> Dtype:
    return computed(dtype_of(node.args[0].meta["val"]))  # type: ignore[union-attr]


_UNARY = (
    "neg", "abs", "exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal", "sin", "cos",
    "tanh", "sigmoid", "erf", "relu", "floor", "ceil", "round", "trunc", "sign",
)  # fmt: skip
_BINARY = ("mul", "maximum", "minimum", "fmod", "remainder", "atan2")
_SAME = {name: name for name in (*_UNARY, *_BINARY)} | {
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
}
_COMPARE = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_SPECIAL: dict[str, Callable[[fx.Node, Writer, Dtype], int]] = {
    "add": lambda node, writer, dtype: _scaled(node, writer, dtype, "add"),
    "sub": lambda node, writer, dtype: _scaled(node, writer, dtype, "sub"),
    "rsub": lambda node, writer, dtype: _scaled(node, writer, dtype, "sub", swapped=True),
    "div": _div, "pow": _pow, "clamp": _clamp, "clamp_min": _clamp, "where": _where,
    "_to_copy": _copy, "copy": _copy_into, "full": _full, "full_like": _full, "scalar_tensor": _full,
    "arange": _arange,
    "logical_and": _logical, "logical_or": _logical, "logical_not": _logical, "bitwise_not": _logical,
    "isnan": _isnan, "isinf": _isinf,
}  # fmt: skip
