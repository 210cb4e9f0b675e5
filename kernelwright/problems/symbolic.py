"""Sizes as expressions over axes, found by looking at other points.

    express([({"batch": 8, "width": 32}, 256), ({"batch": 4, "width": 32}, 128), ...])  ->  "batch * 32"

A size is written as a monomial with a rational factor, or as a sum of multiples of axes, perhaps
divided by a stride. An expression is kept only if it is right at every point given; otherwise the size is the
literal of the first point, and a kernel that uses it serves exactly that size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from kernelwright.core.expr import Expr, evaluate

Sample = tuple[Mapping[str, int], int]
"""Axis values, and the size seen there."""

_STRIDES = (1, 2, 3, 4, 8, 16)


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
        yield from _strided(base, value, moved, others)


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


def _strided(
    base: Mapping[str, int], value: int, moved: list[str], others: Sequence[Sample]
) -> Iterator[Expr]:
    """Sums of multiples of axes, divided by a stride: what windows and paddings give."""
    slopes = {name: _slope(name, base, value, others) for name in moved}
    for stride in _STRIDES:
        factors = {name: round(slope * stride) for name, slope in slopes.items()}
        known = sum(factor * base[name] for name, factor in factors.items())
        for rest in range(stride):
            text = _sum(factors, value * stride - known + rest)
            yield text if stride == 1 else f"({text}) // {stride}"


def _slope(name: str, base: Mapping[str, int], value: int, others: Sequence[Sample]) -> Fraction:
    """Growth of the size along one axis, between the two points that are farthest apart."""
    samples = [(axes[name], size) for axes, size in others if _alone(base, axes) == name]
    at, size = max(samples, key=lambda sample: abs(sample[0] - base[name]))
    return Fraction(size - value, at - base[name])


def _sum(factors: Mapping[str, int], constant: int) -> str:
    terms = [
        (factor, f"{name} * {abs(factor)}" if abs(factor) != 1 else name) for name, factor in factors.items()
    ]
    terms.sort(key=lambda term: term[0] < 0)
    terms += [(constant, str(abs(constant)))]
    text = " ".join(f"{'-' if factor < 0 else '+'} {term}" for factor, term in terms if factor)
    return text.removeprefix("+ ") or "0"
