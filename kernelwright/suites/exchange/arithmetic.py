"""Sizes that are written as arithmetic over axes (`type: expr`), parsed and never run as code.

    size("hidden // 2 + 1", {"hidden": 4096})  ->  2049

Allowed: integers, names of axes, + - * / // % ** and parentheses; the value must be a whole number, so a
quotient must come out even. A power may be at most 64.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction

_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST = 1 << 62
_MOST_TEXT, _MOST_POWER = 500, 64
_ALLOWED = "allowed are integers, axes and + - * / // % **"


def size(text: str, axes: Mapping[str, int]) -> int:
    """The value of an expression; ValueError, one line, if it has none or it is no size."""
    value = _value(parsed(text), axes, text)
    if value.denominator != 1 or not 0 <= value <= _LARGEST:
        raise ValueError(f"{text!r} is {value} here; a size is a whole number from 0 up")
    return int(value)


def parsed(text: str) -> ast.expr:
    """The expression's syntax; ValueError, one line, if it is anything but arithmetic."""
    if len(text) > _MOST_TEXT:
        raise ValueError(f"an expression of {len(text)} characters; at most {_MOST_TEXT} are allowed")
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is no expression; {_ALLOWED}") from error
    for node in ast.walk(body):
        if not _is_arithmetic(node):
            raise ValueError(f"{text!r} uses {type(node).__name__}; {_ALLOWED}")
    return body


def names(text: str) -> frozenset[str]:
    """The names in an expression; ValueError if it is anything but arithmetic."""
    return frozenset(node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name))


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    if isinstance(node, ast.operator | ast.unaryop):
        return type(node) in _OPERATORS or isinstance(node, ast.Pow | ast.USub | ast.UAdd)
    return isinstance(node, ast.Name | ast.BinOp | ast.UnaryOp | ast.expr_context)


def _value(node: ast.expr, axes: Mapping[str, int], text: str) -> Fraction:
    match node:
        case ast.Constant(value=int(value)):
            found = Fraction(value)
        case ast.Name(id=name):
            if name not in axes:
                raise ValueError(f"{text!r} names '{name}'; axes known here: {', '.join(axes) or 'none'}")
            found = Fraction(axes[name])
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, axes, text)
            found = -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=op, right=right):
            found = _applied(op, _value(left, axes, text), _value(right, axes, text), text)
        case _:
            raise ValueError(f"{text!r} uses {type(node).__name__}; {_ALLOWED}")
    if abs(found) > _LARGEST:
        raise ValueError(f"{text!r} is larger than {_LARGEST}")
    return found


def _applied(op: ast.operator, a: Fraction, b: Fraction, text: str) -> Fraction:
    try:
        if not isinstance(op, ast.Pow):
            return Fraction(_OPERATORS[type(op)](a, b))
        if b.denominator != 1 or not 0 <= b <= _MOST_POWER:
            raise ValueError(f"{text!r} has a power of {b}; it may be a whole number up to {_MOST_POWER}")
        return Fraction(a ** int(b))
    except ZeroDivisionError as error:
        raise ValueError(f"{text!r} divides by zero") from error
