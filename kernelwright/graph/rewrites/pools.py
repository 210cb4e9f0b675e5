"""A pool of a pool is a pool, where the windows fit."""

from __future__ import annotations

import operator
from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, only_reader
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

_MAX = {"max_pool2d_with_indices": 2, "max_pool3d_with_indices": 3}
_MEAN = {"avg_pool1d": 1, "avg_pool2d": 2, "avg_pool3d": 3}
_USUAL_MAX: tuple[Any, ...] = (0, 1, False)
"""Padding, dilation, ceiling."""
_USUAL_MEAN: tuple[Any, ...] = (0, False, ..., None)
"""Padding, ceiling, whether padding counts (there is none), another divisor."""
Window = tuple[list[int], list[int]]
"""Size and stride."""


def _of_maxima(draft: Draft, node: fx.Node) -> fx.Node | None:
    """The values of a maximum over the values of another: windows may overlap."""
    pool = _values_of(node)
    first = _values_of(pool.args[0]) if pool is not None else None
    if pool is None or first is None or pool.target is not first.target:
        return None
    window = _both(_window(first, _MAX), _window(pool, _MAX))
    if window is None:
        return None
    both = draft.call(pool.target, first.args[0], *window)
    return draft.call(operator.getitem, both, 0)


def _of_means(draft: Draft, node: fx.Node) -> fx.Node | None:
    """A mean of means of equally many elements: the inner windows must not overlap."""
    if op_name(node) not in _MEAN:
        return None
    (source,) = node.all_input_nodes
    if source.target is not node.target:
        return None
    inner, outer = _window(source, _MEAN), _window(node, _MEAN)
    if inner is None or inner[0] != inner[1] or not only_reader(source):
        return None
    window = _both(inner, outer)
    return None if window is None else draft.call(node.target, source.args[0], *window)


def _values_of(node: Any) -> fx.Node | None:
    """The maximum pool that `node` takes the values of, where nobody takes its indices."""
    if not isinstance(node, fx.Node) or node.target is not operator.getitem or node.args[1] != 0:
        return None
    pool = node.args[0]
    return pool if isinstance(pool, fx.Node) and op_name(pool) in _MAX and only_reader(pool) else None


def _window(pool: fx.Node, ranks: dict[str, int]) -> Window | None:
    """Size and stride of a pool without padding, dilation or windows that reach over the end."""
    rank, given = ranks[op_name(pool)], list(pool.args[1:])
    usual = _USUAL_MAX if ranks is _MAX else _USUAL_MEAN
    if pool.kwargs or any(not _is(value, one) for value, one in zip(given[2:], usual, strict=False)):
        return None
    size = _spread(given[0], rank)
    stride = _spread(given[1], rank) if len(given) > 1 and given[1] else size
    return size, stride


def _is(value: Any, usual: Any) -> bool:
    """Whether an argument, or each of a list, is the usual one; whatever where nothing is usual."""
    values = value if isinstance(value, list | tuple) else [value]
    return usual is ... or all(each == usual for each in values)


def _spread(value: Any, rank: int) -> list[int]:
    listed = list(value) if isinstance(value, list | tuple) else [value]
    return listed * rank if len(listed) == 1 else listed


def _both(inner: Window | None, outer: Window | None) -> Window | None:
    if inner is None or outer is None:
        return None
    pairs = list(zip(*inner, *outer, strict=True))
    if any(s > a and b > 1 for a, s, b, _ in pairs):  # what lies between inner windows is in no pool
        return None
    return [(b - 1) * s + a for a, s, b, _ in pairs], [s * t for _, s, _, t in pairs]


def _same_shape(rule: Any) -> Any:
    def checked(draft: Draft, node: fx.Node) -> fx.Node | None:
        new = rule(draft, node)
        return new if new is not None and shape_of(new) == shape_of(node) else None

    return checked


POOLED_MAXIMA = Rule(
    "maximum pools merged",
    "a maximum of maxima is the maximum of all; NaN stays; nothing is rounded",
    _same_shape(_of_maxima),
)
POOLED_MEANS = Rule(
    "average pools merged",
    "a mean of means of equally many elements is the mean of all; a rounding less",
    _same_shape(_of_means),
)
