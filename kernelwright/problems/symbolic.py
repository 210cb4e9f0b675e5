"""Sizes as expressions over axes, found by looking at other points.

    express([({"batch": 8, "width": 32}, 256), ({"batch": 4, "width": 32}, 128), ...])  ->  "batch * 32"

A size is written as a monomial with a rational factor, or as an affine or strided function of one
axis. An expression is kept only if it is right at every point given; otherwise the size is the
literal of the first point, and a kernel that uses it serves exactly that size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from kernelwright.core.expr import Expr, evaluate

Sample = tuple[Mapping[str, int], int]
"""Axis values, and the size seen there."""

_STRIDES = (2, 3, 4, 8, 16)


def express(samples: Sequence[Sample]) -> Expr:
    """The size as an expression over axes; the first sample is the base point."""
    (base, value), *others = samples
    if all(other == value for _, other in others):
        return value
    for candidate in _candidates(base, value, others):
        if all(evaluate(candidate, axes) == size for axes, size in samples):
            return candidate
    return value


def express_shape(samples: Sequence[tuple[Mapping[str, int], Sequence[int]]]) -> tuple[Expr, ...]:
    """Every size of a shape as an expression; literals if its rank is not the same everywhere."""
    _, first = samples[0]
    if any(len(shape) != len(first) for _, shape in samples):
        return tuple(first)
    return tuple(express([(axes, shape[dim]) for axes, shape in samples]) for dim in range(len(first)))


def _candidates(base: Mapping[str, int], value: int, others: Sequence[Sample]) -> Iterator[Expr]:
    moved = [
        name for name in base if any(_alone(base, axes) == name and size != value for axes, size in others)
    ]
    if moved:
        yield from _monomials(base, value, moved, others)
    if len(moved) == 1:
        yield from _of_one(moved[0], base[moved[0]], value, others)


def _alone(base: Mapping[str, int], axes: Mapping[str, int]) -> str | None:
    """The only axis that differs from the base point, if there is just one."""
    changed = [name for name in base if axes[name] != base[name]]
    return changed[0] if len(changed) == 1 else None


def _monomials(
    base: Mapping[str, int], value: int, moved: list[str], others: Sequence[Sample]
) -> Iterator[Expr]:
    powers = {name: _power(name, base, value, others) for name in moved}
    if None in powers.values():
        return
    factors = [name for name in moved for _ in range(powers[name] or 0)]
    share = Fraction(value, math.prod(base[name] for name in factors) or 1)
    product = " * ".join(factors)
    if share == 1:
        yield product
    elif share.denominator == 1:
        yield f"{product} * {share.numerator}"
    else:
        scaled = product if share.numerator == 1 else f"{product} * {share.numerator}"
        yield f"({scaled}) // {share.denominator}"


def _power(name: str, base: Mapping[str, int], value: int, others: Sequence[Sample]) -> int | None:
    """The power with which the size grows along one axis, if it is 1, 2 or 3."""
    samples = [(axes[name], size) for axes, size in others if _alone(base, axes) == name]
    for power in (1, 2, 3):
        if all(size * base[name] ** power == value * other**power for other, size in samples):
            return power
    return None


def _of_one(name: str, at: int, value: int, others: Sequence[Sample]) -> Iterator[Expr]:
    """Affine and strided functions of one axis."""
    samples = [(axes[name], size) for axes, size in others if axes[name] != at]
    other, size = samples[0]
    slope = Fraction(size - value, other - at)
    if slope.denominator == 1:
        scaled = name if slope == 1 else f"{name} * {slope.numerator}"
        yield _plus(scaled, value - slope.numerator * at)
    for stride in _STRIDES:
        for rest in range(stride):
            yield f"({_plus(name, value * stride - at + rest)}) // {stride}"


def _plus(text: str, number: int) -> str:
    if number == 0:
        return text
    return f"{text} + {number}" if number > 0 else f"{text} - {-number}"
