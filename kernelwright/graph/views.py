"""Views: operations that only rename the elements of a tensor.

A view of a *buffer* can also leave elements out (`slice`, `select`): the buffer's dimensions then
carry a step and an offset. A view of a value that a loop nest computes can only regroup, permute
and broadcast. Not covered: views that are not affine (`as_strided`, `diagonal`): library steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from kernelwright.graph.atoms import Atoms, Factors, Mismatch


@dataclass(frozen=True, slots=True)
class Walk:
    """How one dimension of a buffer is walked: element `offset + step * index`."""

    factors: Factors
    size: int
    step: int = 1
    offset: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """A tensor's dimensions as factors; `walks` are those of the buffer behind it, None if computed."""

    dims: tuple[Factors, ...]
    walks: tuple[Walk, ...] | None = None
    whole: bool = False
    """Every element of the buffer in its own order: a view of another shape may start afresh."""


def whole_buffer(atoms: Atoms, shape: Sequence[int]) -> View:
    """A contiguous buffer as it is."""
    dims = tuple(atoms.new(size) for size in shape)
    walks = tuple(Walk(factors, size) for factors, size in zip(dims, shape, strict=True))
    return View(dims, walks, whole=True)


def shape_of(node: fx.Node) -> list[int]:
    """Sizes of the node's tensor; Mismatch where it has none, or they are not plain numbers."""
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor):
        raise Mismatch("a number that depends on values")
    shape = list(value.shape)
    if not all(isinstance(size, int) for size in shape):
        raise Mismatch("a size that depends on values")
    return shape


def view_name(node: fx.Node) -> str | None:
    """Name of the view operation, or None if the node is none."""
    packet = getattr(node.target, "_schema", None)
    if node.op != "call_function" or packet is None:
        return None
    name = packet.name.removeprefix("aten::")
    return name if name in _VIEWS else None


def apply_view(atoms: Atoms, node: fx.Node, of: View) -> View:
    """The view that `node` makes of its first argument."""
    return _VIEWS[view_name(node) or ""](atoms, node, of)


def _same(atoms: Atoms, node: fx.Node, of: View) -> View:
    return of


def _reshape(atoms: Atoms, node: fx.Node, of: View) -> View:
    shape = shape_of(node)
    if of.whole:
        return whole_buffer(atoms, shape)
    return View(tuple(atoms.regroup(of.dims, shape)), of.walks)


def _permute(atoms: Atoms, node: fx.Node, of: View) -> View:
    order: Sequence[int] = node.args[1]  # type: ignore[assignment]
    return View(tuple(of.dims[at] for at in order), of.walks)


def _transpose(atoms: Atoms, node: fx.Node, of: View) -> View:
    dims = list(of.dims)
    a, b = (int(arg) for arg in node.args[1:3]) if len(node.args) > 2 else (0, -1)  # type: ignore[arg-type]
    if dims:
        dims[a], dims[b] = dims[b], dims[a]
    return View(tuple(dims), of.walks)


def _expand(atoms: Atoms, node: fx.Node, of: View) -> View:
    shape = shape_of(node)
    dims: list[Factors] = [()] * (len(shape) - len(of.dims)) + list(of.dims)
    grown = [
        atoms.new(size) if not factors and size != 1 else factors
        for factors, size in zip(dims, shape, strict=True)
    ]
    return View(tuple(grown), of.walks)


def _slice(atoms: Atoms, node: fx.Node, of: View) -> View:
    given: list[Any] = [*node.args[1:], *[0, None, None, 1][len(node.args) - 1 :]]
    dim, start, step = int(given[0]), int(given[1] or 0), int(given[3] or 1)
    size, length = shape_of(node)[dim], _length(node, dim)
    if size == length:
        return of
    return _walked(atoms, of, dim, size, step, start + length if start < 0 else start)


def _select(atoms: Atoms, node: fx.Node, of: View) -> View:
    given: list[Any] = list(node.args[1:3])
    dim, index = int(given[0]), int(given[1])
    one = _walked(atoms, of, dim, 1, 1, index % _length(node, dim))
    at = dim % len(of.dims)
    return View(one.dims[:at] + one.dims[at + 1 :], one.walks)


def _length(node: fx.Node, dim: int) -> int:
    """Size of dimension `dim` of what the view is of."""
    return shape_of(node.all_input_nodes[0])[dim]


def _walked(atoms: Atoms, of: View, dim: int, size: int, step: int, start: int) -> View:
    """Walk `size` elements of a dimension that is one whole dimension of a buffer."""
    if of.walks is None:
        raise Mismatch("a slice of a computed value")
    factors = of.dims[dim]
    if not factors:
        return of
    at = next((i for i, walk in enumerate(of.walks) if walk.factors == factors), None)
    if at is None:
        raise Mismatch("a slice across dimensions of a buffer")
    old = of.walks[at]
    new = Walk(atoms.new(size), old.size, old.step * step, old.offset + start * old.step)
    dims = list(of.dims)
    dims[dim] = new.factors
    return View(tuple(dims), (*of.walks[:at], new, *of.walks[at + 1 :]))


_VIEWS: dict[str, Callable[[Atoms, fx.Node, View], View]] = {
    "view": _reshape, "_unsafe_view": _reshape, "reshape": _reshape, "squeeze": _reshape,
    "unsqueeze": _reshape, "flatten": _reshape, "permute": _permute, "transpose": _transpose, "t": _transpose,
    "expand": _expand, "slice": _slice, "select": _select,
    "alias": _same, "detach": _same, "clone": _same, "lift_fresh_copy": _same, "contiguous": _same,
}  # fmt: skip
