"""C++ for single nodes of the loop form: literals, operations, loads and stores.

The text is the same for lanes and for single elements; `lanes.h` and `math*.h` have every
name for both. Not covered: where a node is computed; that is `body`.
"""

from __future__ import annotations

import math

from kernelwright.core.dtypes import Dtype
from kernelwright.graph.loops import Const

HEADER = frozenset({"cpp/lanes.h", "cpp/math.h", "cpp/math_erf.h"})
"""Text resources that every C++ template's source needs."""

C_TYPES: dict[Dtype, str] = {
    "float64": "double",
    "float32": "float",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
"""What a buffer's element is called; half types travel as their bits."""

_SUFFIX: dict[Dtype, str] = {"float16": "_f16", "bfloat16": "_bf16", "bool": "_bool"}

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "logical_and": "&",
    "logical_or": "|",
    "bitwise_and": "&",
    "bitwise_or": "|",
}

FOLD_OPS = {"sum": "SumOp", "max": "MaxOp", "min": "MinOp", "prod": "ProdOp"}
"""Names in `math.h` of what puts two values of a reduction together."""

COSTLY = frozenset(
    {
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "log2",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "erf",
        "pow",
        "fmod",
        "remainder",
        "atan2",
    }
)
"""Operations that cost more than reading their operand from the nearest cache."""


def value_type(dtype: Dtype) -> str:
    """C++ type in which a single value is computed."""
    return "float" if dtype in ("float16", "bfloat16") else C_TYPES[dtype]


def literal(const: Const) -> str:
    """A C++ literal of the constant's type."""
    if const.dtype == "bool":
        return "true" if const.value else "false"
    if const.dtype in ("float32", "float64", "float16", "bfloat16"):
        return _float_literal(float(const.value), "" if const.dtype == "float64" else "f")
    return f"{value_type(const.dtype)}(INT64_C({int(const.value)}))"


def _float_literal(value: float, suffix: str) -> str:
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value) or (suffix and abs(value) > 3.4028235677973366e38):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    return f"{value!r}{suffix}"


def operation(op: str, args: list[str], dtype: Dtype) -> str:
    """An expression for one `POINTWISE` operation."""
    if op in _INFIX:
        return f"{args[0]} {_INFIX[op]} {args[1]}"
    match op:
        case "neg":
            return f"-{args[0]}"
        case "isnan":
            return f"{args[0]} != {args[0]}"
        case "reciprocal":
            return f"1 / {args[0]}"
        case "cast":
            return f"kw::to<{value_type(dtype)}>({args[0]})"
    return f"kw::{op}({', '.join(args)})"


def load(dtype: Dtype, pointer: str, stride: int, at: str, lanes: str) -> str:
    """An expression that reads elements `at`, `at + 1`, ... along a loop of `stride`."""
    if stride == 0:
        return f"kw::load{_SUFFIX.get(dtype, '')}({pointer}, kw::One{{}})"
    if stride == 1:
        return f"kw::load{_SUFFIX.get(dtype, '')}({pointer} + {at}, {lanes})"
    if dtype in _SUFFIX:
        return f"kw::load{_SUFFIX[dtype]}({pointer} + {at} * {stride}, {lanes})"
    return f"kw::gather({pointer} + {at} * {stride}, {stride}, {lanes})"


def store(dtype: Dtype, pointer: str, stride: int, at: str, value: str, lanes: str, streamed: bool) -> str:
    """A statement that writes elements `at`, `at + 1`, ... along a loop of `stride`."""
    verb = "stream" if streamed and dtype != "bool" else "store"
    if stride == 0:
        return f"kw::store{_SUFFIX.get(dtype, '')}({pointer}, {value}, kw::One{{}});"
    if stride == 1:
        return f"kw::{verb}{_SUFFIX.get(dtype, '')}({pointer} + {at}, {value}, {lanes});"
    if dtype in _SUFFIX:
        return f"kw::store{_SUFFIX[dtype]}({pointer} + {at} * {stride}, {value}, {lanes});"
    return f"kw::scatter({pointer} + {at} * {stride}, {stride}, {value}, {lanes});"


class Text:
    """Lines with indentation."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str) -> None:
        """Add a line."""
        self._lines.append("  " * self._depth + text)

    def open(self, text: str) -> None:
        """Add a line that opens a block."""
        self.line(text)
        self._depth += 1

    def close(self, text: str = "}") -> None:
        """Add a line that closes a block."""
        self._depth -= 1
        self.line(text)

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
