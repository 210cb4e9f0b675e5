"""Numbers of a graph as expressions over axes, found by looking at other points.

    fit({"batch": 8, "tokens": 512}, 4096, {"batch": 4608, "tokens": 4104})  ->  "batch * tokens"

A number that one axis moves is a multiple of it and a constant; one that several move is a multiple
of their product, or a sum of multiples. So every division is by literals that were computed before,
and text means the same in C. The fit is a guess from two points for each axis: `agrees` settles it at
others. Not covered: products of sums, quotients (an axis that needs one stays as it is).
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
    if len(slopes) > 1:
        factor, rest = divmod(value, math.prod(base[axis] for axis in slopes) or 1)
        if rest == 0 and all(slope * base[axis] == value for axis, slope in slopes.items()):
            return " * ".join([*slopes, *([str(factor)] if factor != 1 else [])])
    return _sum(slopes, value - sum(slope * base[axis] for axis, slope in slopes.items()))


def agrees(expr: Expr, axes: Mapping[str, int], value: int) -> bool:
    """Whether the expression has this value at a point."""
    return evaluate(expr, axes) == value


def _sum(slopes: Mapping[str, int], constant: int) -> str:
    terms = [
        (slope, axis if abs(slope) == 1 else f"{axis} * {abs(slope)}")
        for axis, slope in sorted(slopes.items(), key=lambda item: item[1] < 0)
    ]
    terms += [(constant, str(abs(constant)))] if constant else []
    text = " ".join(f"{'-' if factor < 0 else '+'} {term}" for factor, term in terms)
    return text.removeprefix("+ ")
