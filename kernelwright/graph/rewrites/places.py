"""Masks by position: which elements a comparison of two `arange`s picks, without computing it.

A value that is built from `arange`, views and sums is an affine function of the position. A comparison of
such values that depends on `j - i` alone is a band of a matrix: its diagonal, or a triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import fx

from kernelwright.graph.atoms import Mismatch
from kernelwright.graph.rewrites.single import is_full_of
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of


@dataclass(frozen=True)
class Place:
    """`constant + sum(slopes[d] * index[d])`, an integer at each position of a tensor."""

    slopes: tuple[int, ...]
    constant: int = 0


@dataclass(frozen=True)
class Band:
    """The elements of a matrix with `j - i` equal to (`eq`), at least (`ge`) or at most (`le`) an offset."""

    relation: str
    offset: int


def masked(node: Any) -> tuple[Band, fx.Node] | None:
    """(band, x) of where(band, x, 0) over a matrix."""
    if not isinstance(node, fx.Node) or op_name(node) != "where" or len(shape_of(node)) != 2:
        return None
    test, x, zero = node.args
    while isinstance(zero, fx.Node) and op_name(zero) in ("view", "expand", "_to_copy"):
        zero = zero.args[0]
    band = _band(test)
    return (band, x) if band is not None and isinstance(x, fx.Node) and is_full_of(zero, 0) else None


_MIRRORED = {"eq": "eq", "ge": "le", "le": "ge"}


def _band(test: Any) -> Band | None:
    while isinstance(test, fx.Node) and op_name(test) in ("view", "expand") and len(shape_of(test)) == 2:
        if shape_of(test) != shape_of(test.all_input_nodes[0]):
            return None
        test = test.args[0]
    if not isinstance(test, fx.Node) or op_name(test) not in _MIRRORED:
        return None
    left, right = _place(test.args[0], 2), _place(test.args[1], 2)
    if left is None or right is None:
        return None
    slopes = tuple(a - b for a, b in zip(left.slopes, right.slopes, strict=True))
    offset = right.constant - left.constant
    if slopes == (-1, 1):
        return Band(op_name(test), offset)
    return Band(_MIRRORED[op_name(test)], -offset) if slopes == (1, -1) else None


def _place(value: Any, rank: int) -> Place | None:
    """The affine function that a value is, over `rank` dimensions; None where it is none that is known."""
    if isinstance(value, int):
        return Place((0,) * rank, value)
    found = _own_place(value)
    if found is None or len(found.slopes) > rank:
        return None
    return Place((0,) * (rank - len(found.slopes)) + found.slopes, found.constant)


def _own_place(node: Any) -> Place | None:
    if not isinstance(node, fx.Node):
        return None
    try:
        shape = shape_of(node)
    except Mismatch:
        return None
    name, rank = op_name(node), len(shape)
    if name == "arange":
        start, step = _range(node)
        return Place((step,), start)
    if name in ("full", "scalar_tensor"):
        value = node.args[0] if name == "scalar_tensor" else node.args[1]
        return Place((0,) * rank, value) if isinstance(value, int) else None
    if name in ("view", "unsqueeze", "_to_copy"):
        return _reshaped(node, shape)
    if name not in ("add", "sub") or node.kwargs:
        return None
    left, right = (_place(arg, rank) for arg in node.args[:2])
    if left is None or right is None:
        return None
    sign = 1 if name == "add" else -1
    slopes = tuple(a + sign * b for a, b in zip(left.slopes, right.slopes, strict=True))
    return Place(slopes, left.constant + sign * right.constant)


def _range(node: fx.Node) -> tuple[int, int]:
    given: list[Any] = list(node.args)
    return (given[0], given[2]) if len(given) > 2 else (given[0] if len(given) > 1 else 0, 1)


def _reshaped(node: fx.Node, shape: list[int]) -> Place | None:
    """A view that only adds or drops dimensions of size 1."""
    of = _own_place(node.args[0])
    before = shape_of(node.all_input_nodes[0])
    if of is None or [size for size in shape if size != 1] != [size for size in before if size != 1]:
        return None
    kept = iter([slope for slope, size in zip(of.slopes, before, strict=True) if size != 1])
    return Place(tuple(next(kept) if size != 1 else 0 for size in shape), of.constant)
