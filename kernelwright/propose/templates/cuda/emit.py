"""CUDA C++ text of single nodes: types, literals, scalar operations, and the closure of what a value needs.

The scalar text uses only `kw_*` functions of `math.cuh`, so that a test can compile it on the
host. Loops, loads and stores are the templates' own (`cuda_passes`, `cuda_pointwise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from kernelwright.core.dtypes import FLOATS, Dtype
from kernelwright.graph.loops import Apply, Const, Region, SizeOf, operands

STORED: dict[Dtype, str] = {
    "float64": "double", "float32": "float", "float16": "kw_half", "bfloat16": "kw_bf16",
    "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char",
    "bool": "bool",
}  # fmt: skip
"""Types of elements in memory."""

HEADER = frozenset({"cuda/asm.cuh", "cuda/math.cuh", "cuda/memory.cuh"})
REDUCE_HEADER = HEADER | {"cuda/reduce.cuh"}

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "logical_and": "&&", "logical_or": "||", "bitwise_and": "&", "bitwise_or": "|",
}  # fmt: skip
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_RANK: list[Dtype] = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]
_BY_SQUARING: dict[float, str] = {2: "({x} * {x})", 3: "({x} * {x} * {x})"}


def computed(region: Region, dtype: Dtype) -> str:
    """The type that arithmetic on values of `dtype` runs in."""
    return STORED[region.compute_dtype if dtype in FLOATS and dtype != "float64" else dtype]


def literal(value: float | int | bool, ctype: str) -> str:
    """A literal of a C++ type: floats by their shortest exact decimal form."""
    if ctype == "bool":
        return "true" if value else "false"
    if ctype in ("float", "double"):
        number = float(value)
        if math.isnan(number):
            return "__int_as_float(0x7fffffff)"
        if math.isinf(number):
            text = "__int_as_float(0x7f800000)"
            return text if number > 0 else f"(-{text})"
        text = repr(number) if "e" in repr(number) or "." in repr(number) else f"{number!r}.0"
        return (
            f"{'(' if number < 0 else ''}{text}{'f' if ctype == 'float' else ''}{')' if number < 0 else ''}"
        )
    return f"({ctype}){int(value)}LL"


def cast(text: str, given: str, wanted: str) -> str:
    """`text` converted between C++ types, as torch converts."""
    return text if given == wanted else f"kw_cast<{wanted}>({text})"


def apply_text(region: Region, node: Apply, name: Callable[[int], str]) -> str:
    """One scalar operation on the values called `name(i)`; its type is `computed(region, node.dtype)`."""
    result = computed(region, node.dtype)
    if node.op == "cast":
        return cast(name(node.args[0]), _type(region, node.args[0]), result)
    if node.op == "where":
        condition, *branches = node.args
        then, other = (cast(name(arg), _type(region, arg), result) for arg in branches)
        return f"({_truth(region, condition, name)} ? {then} : {other})"
    if node.op in ("logical_and", "logical_or", "logical_not"):
        truths = [_truth(region, arg, name) for arg in node.args]
        text = (
            f"(!{truths[0]})" if node.op == "logical_not" else f"({truths[0]} {_INFIX[node.op]} {truths[1]})"
        )
        return cast(text, "bool", result)
    working = _common(region, node.args) if node.op in _COMPARISONS or node.op == "isnan" else result
    values = [cast(name(arg), _type(region, arg), working) for arg in node.args]
    if node.op in _INFIX:
        text = f"({values[0]} {_INFIX[node.op]} {values[1]})"
        return cast(text, "bool", result) if node.op in _COMPARISONS else text
    if node.op == "pow" and _exponent(region, node) in _BY_SQUARING:
        return _BY_SQUARING[_exponent(region, node)].format(x=values[0])
    return f"kw_{node.op}({', '.join(values)})"


def _exponent(region: Region, node: Apply) -> float:
    exponent = region.nodes[node.args[1]]
    return float(exponent.value) if isinstance(exponent, Const) else 0.5


def _truth(region: Region, arg: int, name: Callable[[int], str]) -> str:
    return name(arg) if _type(region, arg) == "bool" else f"({name(arg)} != 0)"


def _common(region: Region, args: Iterable[int]) -> str:
    """The type that a comparison converts both sides to."""
    return computed(region, max((dtype_of(region, arg) for arg in args), key=_RANK.index))


def _type(region: Region, index: int) -> str:
    return computed(region, dtype_of(region, index))


def dtype_of(region: Region, index: int) -> Dtype:
    """The element type of a node; a loop index is an int64."""
    return getattr(region.nodes[index], "dtype", "int64")


def ctype_of(region: Region, index: int) -> str:
    """The C++ type that a node's value has in registers."""
    return _type(region, index)


def closure(region: Region, targets: Iterable[int], known: frozenset[int]) -> list[int]:
    """Nodes that must be computed for `targets` where those in `known` are at hand, in order."""
    needed: set[int] = set()
    todo = [target for target in targets if target not in known]
    while todo:
        index = todo.pop()
        if index not in needed:
            needed.add(index)
            todo += [arg for arg in operands(region.nodes[index]) if arg not in known]
    return sorted(needed)


def inline(region: Region, index: int, count: Callable[[SizeOf], str]) -> str | None:
    """The text of a node that needs no variable (a literal, a size), or None."""
    node = region.nodes[index]
    ctype = ctype_of(region, index)
    if isinstance(node, Const):
        return literal(node.value, ctype)
    if isinstance(node, SizeOf):
        return f"({ctype}){count(node)}"
    return None
