"""Small integer arithmetic over named axes, parsed and never run as code.

    evaluate("ceildiv(rows * 4096, 256)", {"rows": 8})  ->  128
    holds("features == 4096 and batch >= 1", {"features": 4096, "batch": 3})  ->  True

Allowed: integers, names, + - * // % and unary minus, parentheses, `ceildiv(a, b)`, `min`, `max`;
in predicates also == != < <= > >=, chained comparisons, `and`, `or`, `not`, `True`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

from kernelwright.core.errors import UsageError

Expr = int | str
"""An integer, or the text of an expression over axes."""

_MAX_TEXT = 2000

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CALLS: dict[str, Callable[..., int]] = {
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


def evaluate(expr: Expr, axes: Mapping[str, int]) -> int:
    """The integer value of `expr`; UsageError on unknown names, division by zero or other syntax."""
    if isinstance(expr, int):
        return expr
    return _number(_parse(expr), axes, expr)


def holds(predicate: str, axes: Mapping[str, int]) -> bool:
    """Whether `predicate` is true for these axis values. An empty predicate always holds."""
    return not predicate.strip() or _truth(_parse(predicate), axes, predicate)


def names(expr: Expr) -> frozenset[str]:
    """The axis names that `expr` mentions."""
    if isinstance(expr, int) or not expr.strip():
        return frozenset()
    found = {node.id for node in ast.walk(_parse(expr)) if isinstance(node, ast.Name)}
    return frozenset(found - set(_CALLS))


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > _MAX_TEXT:
        raise UsageError(f"expression of {len(text)} characters; at most {_MAX_TEXT} are allowed")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"expression {text!r} does not parse; write integer arithmetic over axes") from error


def _number(node: ast.expr, axes: Mapping[str, int], text: str) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            if name not in axes:
                known = ", ".join(sorted(axes)) or "none"
                raise UsageError(f"expression {text!r} names axis '{name}'; known axes: {known}")
            return axes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, axes, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _apply(_BINARY[type(op)], text, _number(left, axes, text), _number(right, axes, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS and len(args) >= 2:
            return _apply(_CALLS[name], text, *(_number(arg, axes, text) for arg in args))
    allowed = "allowed are + - * // % ceildiv min max over axes"
    raise UsageError(f"expression {text!r} uses {ast.unparse(node)!r}; {allowed}")


def _apply(function: Callable[..., int], text: str, *args: int) -> int:
    try:
        return function(*args)
    except (ZeroDivisionError, TypeError) as error:
        raise UsageError(f"expression {text!r} cannot be computed: {error}") from error


def _truth(node: ast.expr, axes: Mapping[str, int], text: str) -> bool:
    match node:
        case ast.Constant(value=bool(value)):
            return value
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_truth(value, axes, text) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_truth(value, axes, text) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(operand, axes, text)
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            numbers = [_number(side, axes, text) for side in [left, *rights]]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, numbers, numbers[1:], strict=False))
    allowed = "allowed are comparisons joined by and, or, not"
    raise UsageError(f"predicate {text!r} uses {ast.unparse(node)!r}; {allowed}")
