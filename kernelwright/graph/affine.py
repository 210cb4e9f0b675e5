"""Numbers of a graph as expressions over axes, found by looking at other points.

    fit({"batch": 8, "tokens": 512}, 4096, {"batch": 4608, "tokens": 4104})  ->  "batch * tokens"

A number that one axis moves is a multiple of it and a constant; one that several move is a product of
axes, each with a constant added, or a sum of multiples. So the text means the same in C. The fit is a
guess from two points for each axis: `agrees` settles it at others. Not covered: powers and quotients (an
axis that needs one stays as it is).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernelwright.core.expr import Expr, evaluate


def fit(base: Mapping[str, int], value: int, beside: Mapping[str, int]) -> Expr:
    """The number as an expression: `value` at `base`, `beside[axis]` where `axis` alone is one more."""
    slopes = {axis: seen - value for axis, seen in beside.items() if seen != value}
    if not slopes:
        return value
    product = _product(base, value, slopes) if len(slopes) > 1 else None
    if product is not None:
        return product
    return _sum(slopes, value - sum(slope * base[axis] for axis, slope in slopes.items()))


def agrees(expr: Expr, axes: Mapping[str, int], value: int) -> bool:
    """Whether the expression has this value at a point."""
    return evaluate(expr, axes) == value


def _product(base: Mapping[str, int], value: int, slopes: Mapping[str, int]) -> str | None:
    """The number as a product: along an axis it grows by what the other factors are."""
    if value <= 0 or any(slope <= 0 or value % slope for slope in slopes.values()):
        return None
    factors = {axis: value // slope for axis, slope in slopes.items()}
    multiple, rest = divmod(value, math.prod(factors.values()))
    if rest:
        return None
    texts = [_sum({axis: 1}, factor - base[axis]) for axis, factor in factors.items()]
    texts = [text if text.isidentifier() else f"({text})" for text in texts]
    return " * ".join([*texts, str(multiple)] if multiple != 1 else texts)


def _sum(slopes: Mapping[str, int], constant: int) -> str:
    terms = [
        (slope, axis if abs(slope) == 1 else f"{axis} * {abs(slope)}")
        for axis, slope in sorted(slopes.items(), key=lambda item: item[1] < 0)
    ]
    terms += [(constant, str(abs(constant)))] if constant else []
    text = " ".join(f"{'-' if factor < 0 else '+'} {term}" for factor, term in terms)
    return text.removeprefix("+ ")
