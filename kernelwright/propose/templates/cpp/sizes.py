"""Sizes and strides as C++: literals, or expressions over the axes that an entry takes as arguments.

Expressions are those of `core.expr` without `ceildiv`, `min` and `max`, which the graph never makes. All
values are 0 or more, so that `//` is the division of C.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from kernelwright.core.expr import Expr, names
from kernelwright.graph.loops import Load, Region


def axes_of(region: Region) -> list[str]:
    """Axes that sizes, strides and offsets of the region name, sorted."""
    accesses = [node.access for node in region.nodes if isinstance(node, Load)]
    accesses += [store.access for store in region.stores]
    found: list[Expr] = [dim.size for dim in region.dims]
    for access in accesses:
        found += [*access.strides, access.offset]
    return sorted(frozenset().union(*(names(expr) for expr in found)))


def text_of(expr: Expr) -> str:
    """The number as C++; an axis `rows` is the argument `n_rows`."""
    if isinstance(expr, int):
        return str(expr)
    text = re.sub(r"[A-Za-z_]\w*", lambda found: f"n_{found[0]}", expr).replace("//", "/")
    return text if expr.isidentifier() else f"({text})"


def product(factors: Iterable[Expr]) -> str:
    """The product as C++, literals put together."""
    given = list(factors)
    literal = math.prod(factor for factor in given if isinstance(factor, int))
    named = [text_of(factor) for factor in given if isinstance(factor, str)]
    if not named or literal == 0:
        return str(literal)
    return " * ".join(named if literal == 1 else [*named, str(literal)])
