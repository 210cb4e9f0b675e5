"""Arguments made after an example: the same structure and types at other sizes, with fresh values.

Used where a source is not a file that can be run again with other constants. Floating-point values
are drawn from the example's own, with replacement, so that a domain such as "positive" is kept.
Integers and booleans stay the example's unless their shape changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.expr import Expr, evaluate

Place = tuple[int, int]
"""(number of the tensor among the arguments, dimension)."""


@dataclass(frozen=True)
class SizeGroup:
    """Dimensions that may be one axis because they have the same size."""

    size: int
    places: tuple[Place, ...]


def size_groups(tensors: Sequence[torch.Tensor]) -> dict[str, SizeGroup]:
    """Candidates for axes: all dimensions of one size together, then each of them alone."""
    places: dict[int, list[Place]] = {}
    for i, tensor in enumerate(tensors):
        for dim, size in enumerate(tensor.shape):
            if size > 1:
                places.setdefault(int(size), []).append((i, dim))
    found: dict[str, SizeGroup] = {}
    for size, where in places.items():
        found[_name(where[0], found)] = SizeGroup(size, tuple(where))
    for size, where in places.items():
        for place in where if len(where) > 1 else ():
            found[_name(place, found)] = SizeGroup(size, (place,))
    return found


def overlapping(groups: Mapping[str, SizeGroup], name: str) -> frozenset[str]:
    """Names of other groups that share a dimension with this one."""
    own = set(groups[name].places)
    return frozenset(other for other, group in groups.items() if other != name and own & set(group.places))


def shapes_at(
    tensors: Sequence[torch.Tensor], groups: Mapping[str, SizeGroup], axes: Mapping[str, int]
) -> list[tuple[Expr, ...]]:
    """Shapes of the example's tensors with some groups at other sizes."""
    shapes: list[list[Expr]] = [list(map(int, tensor.shape)) for tensor in tensors]
    for name, size in axes.items():
        for i, dim in groups[name].places if size != groups[name].size else ():
            shapes[i][dim] = size
    return [tuple(shape) for shape in shapes]


def like_example(
    example: list[Any], shapes: Sequence[tuple[Expr, ...]], axes: Mapping[str, int], device: torch.device
) -> list[Any]:
    """Arguments with the structure of `example` and these shapes, drawn from the current generator."""
    remaining = iter(shapes)

    def fresh(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return _fresh(leaf, tuple(evaluate(size, axes) for size in next(remaining)), device)

    made: list[Any] = pytree.tree_map(fresh, example)
    return made


def _fresh(leaf: torch.Tensor, shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
    if leaf.is_meta or device.type == "meta":
        return torch.empty(shape, dtype=leaf.dtype, device="meta")
    leaf = leaf.detach().to(device)
    if not leaf.is_floating_point() and tuple(leaf.shape) == shape:
        return leaf.clone()
    if not leaf.numel():
        return torch.zeros(shape, dtype=leaf.dtype, device=device)
    chosen = torch.randint(leaf.numel(), (math.prod(shape),), device=device)
    # A one-dimensional index always copies; one without dimensions would give a view of the example.
    return leaf.reshape(-1)[chosen].reshape(shape)


def _name(place: Place, taken: Mapping[str, SizeGroup]) -> str:
    """`batch` for the first dimension of the first tensor, else `d1`, `d2`, ...; told apart by tensor."""
    tensor, dim = place
    simple = "batch" if place == (0, 0) else f"d{dim}"
    names = [simple, f"{simple}_{tensor}", f"d{dim}_{tensor}_alone"]
    return next(name for name in names if name not in taken)
