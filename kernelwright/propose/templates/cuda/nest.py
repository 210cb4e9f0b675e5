"""A region made ready for flat loops: unit dimensions dropped, dimensions ordered and merged.

`flatten(region)` returns an equal region with as few dimensions as its accesses allow, so that the
common case is one flat index per class (kept, reduced). `Sizes` decides which sizes are literals
of the source and which are kernel arguments, and collects the predicate that literals imply.
What an access looks like to a thread that holds V neighbouring elements is `Sizes.shape_of`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.core.dtypes import ITEM_BYTES, Dtype
from kernelwright.core.expr import Expr, evaluate, names
from kernelwright.core.plan import IntArg
from kernelwright.graph.loops import Access, Dim, Index, Load, Node, Region, SizeOf, Store

Shape = Literal["flat", "inner", "splat", "gather"]
"""How V neighbouring elements of a loop lie in a buffer: in a row, at the flat index or at the decomposed
one; all the same element; or anywhere."""

_LAST_32_BIT = 2**31 - 1


def times(a: Expr, b: Expr) -> Expr:
    """The product, folded where both are numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 1 or b == 1:
        return b if a == 1 else a
    return f"({a}) * ({b})"


def same(a: Expr, b: Expr) -> bool:
    """Whether two expressions agree: at three points far from special, which settles sums of products."""
    if a == b:
        return True
    free = sorted(names(a) | names(b))
    points = [{name: 1009 + 97 * at + 1013 * seed**2 for at, name in enumerate(free)} for seed in (1, 2, 3)]
    return all(evaluate(a, point) == evaluate(b, point) for point in points)


def flatten(region: Region) -> Region:
    """The same region over fewer dimensions; kept ones first, each class in the order of memory."""
    indexed = {node.dim for node in region.nodes if isinstance(node, Index)}
    groups = [(dim,) for dim in _ordered(region) if region.dims[dim].size != 1 or dim in indexed]
    merged: list[tuple[int, ...]] = []
    for group in groups:
        if merged and _mergeable(region, merged[-1], group, indexed):
            merged[-1] += group
        else:
            merged.append(group)
    return _regrouped(region, merged)


def _ordered(region: Region) -> list[int]:
    """Kept dimensions, then reduced ones, each class from far to near in memory where strides are numbers."""
    strides = _primary(region).strides
    far = [stride for stride in strides if isinstance(stride, int) and stride > 0]
    known = len(far) == len(strides)

    def place(dim: int) -> tuple[bool, int, int]:
        return dim in region.reduced, -far[dim] if known else 0, dim

    return sorted(range(len(strides)), key=place)


def _primary(region: Region) -> Access:
    """The access that varies along most loops: the first such store, else the first such load."""
    accesses = [store.access for store in region.stores]
    accesses += [node.access for node in region.nodes if isinstance(node, Load)]
    return max(accesses, key=lambda access: sum(stride != 0 for stride in access.strides))


def _accesses(region: Region) -> list[Access]:
    loads = [node.access for node in region.nodes if isinstance(node, Load)]
    return loads + [store.access for store in region.stores]


def _mergeable(region: Region, outer: tuple[int, ...], inner: tuple[int, ...], indexed: set[int]) -> bool:
    if (outer[-1] in region.reduced) != (inner[0] in region.reduced) or indexed & {*outer, *inner}:
        return False
    for node in region.nodes:
        if isinstance(node, SizeOf) and len({*outer, *inner} & set(node.dims)) not in (0, len(outer + inner)):
            return False
    size = _product(region, inner)
    return all(
        same(access.strides[outer[-1]], times(access.strides[inner[-1]], size))
        for access in _accesses(region)
    )


def _product(region: Region, group: tuple[int, ...]) -> Expr:
    size: Expr = 1
    for dim in group:
        size = times(size, region.dims[dim].size)
    return size


def _regrouped(region: Region, groups: Sequence[tuple[int, ...]]) -> Region:
    where = {dim: at for at, group in enumerate(groups) for dim in group}

    def moved(access: Access) -> Access:
        return replace(access, strides=tuple(access.strides[group[-1]] for group in groups))

    def node_of(node: Node) -> Node:
        match node:
            case Load():
                return replace(node, access=moved(node.access))
            case Index(dim=dim):
                return Index(where[dim])
            case SizeOf(dims=dims):
                return replace(node, dims=tuple(sorted({where[dim] for dim in dims if dim in where})))
        return node

    return Region(
        name=region.name,
        dims=tuple(_dim_of(region, group) for group in groups),
        reduced=frozenset(where[dim] for dim in region.reduced if dim in where),
        nodes=tuple(node_of(node) for node in region.nodes),
        stores=tuple(Store(moved(store.access), store.value, store.dtype) for store in region.stores),
        compute_dtype=region.compute_dtype,
    )


def _dim_of(region: Region, group: tuple[int, ...]) -> Dim:
    dims = [region.dims[dim] for dim in group]
    return Dim(
        "_".join(dim.name for dim in dims), _product(region, group), math.prod(dim.extent for dim in dims)
    )


@dataclass(frozen=True, slots=True)
class Walk:
    """A flat loop over `dims`, the last one innermost, `vector` elements at a time."""

    dims: tuple[int, ...]
    vector: int
    shift: Access | None = None
    """Where vectors lie at multiples of their size in this buffer, not at multiples of V from the start of
    a row: then the first and the last may stick out."""


class Sizes:
    """Sizes, strides and offsets as source text; literal where `baked` dimensions determine them."""

    def __init__(self, region: Region, baked: Callable[[int], bool]) -> None:
        self.region = region
        self.domain: list[str] = []
        self._arguments: dict[Expr, str] = {}
        self._known: dict[str, int] = {}
        self._sizes: list[int | None] = [
            self._settle(at, dim, baked(at)) for at, dim in enumerate(region.dims)
        ]
        total = math.prod(dim.extent for dim in region.dims)
        self.index = "unsigned" if total <= _LAST_32_BIT else "long long"
        if self.index == "unsigned" and None in self._sizes:
            everything = _product(region, tuple(range(len(region.dims))))
            self.domain.append(f"{everything} <= {_LAST_32_BIT}")

    def _settle(self, at: int, dim: Dim, baked: bool) -> int | None:
        if isinstance(dim.size, int):
            return dim.size
        if not baked:
            return None
        self.domain.append(f"{dim.size} == {dim.extent}")
        if dim.size.isidentifier():
            self._known[dim.size] = dim.extent
        return dim.extent

    def literal(self, expr: Expr) -> int | None:
        """The number that `expr` is for certain, or None."""
        if isinstance(expr, int):
            return expr
        return evaluate(expr, self._known) if names(expr) <= self._known.keys() else None

    def text(self, expr: Expr) -> str:
        """`expr` as source text: a literal or the name of a kernel argument."""
        value = self.literal(expr)
        if value is not None:
            return str(value) if abs(value) <= _LAST_32_BIT else f"{value}LL"
        return self._arguments.setdefault(expr, f"a{len(self._arguments)}")

    def size(self, dim: int) -> int | None:
        """The literal size of a dimension, or None."""
        return self._sizes[dim]

    def product(self, dims: Sequence[int]) -> int | None:
        """The literal number of points of a loop over `dims`, or None."""
        sizes = [self._sizes[dim] for dim in dims]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def count(self, dims: Sequence[int]) -> Expr:
        """The number of points of a loop over `dims`, for the plan or `text`."""
        whole: Expr = 1
        for dim in dims:
            known = self._sizes[dim]
            whole = times(whole, self.region.dims[dim].size if known is None else known)
        return whole

    def require_multiple(self, dims: Sequence[int], vector: int) -> None:
        """Demand a whole number of vectors where the sizes in the source do not show it."""
        inner = self.product(dims[1:])
        if self.product(dims) is None and (inner is None or inner % vector):
            self.domain.append(f"({self.count(dims)}) % {vector} == 0")

    @property
    def arguments(self) -> list[tuple[str, IntArg]]:
        """Names of the size arguments in order, and their values for the plan."""
        return [(name, IntArg(value=expr)) for expr, name in self._arguments.items()]

    def decompose(self, dims: Sequence[int], flat: str, prefix: str) -> list[str]:
        """Statements that set `<prefix><dim>` for each of `dims` from the flat index."""
        if not dims:
            return []
        lines, rest = [], flat
        for dim in reversed(dims[1:]):
            size = self.text(self.count((dim,)))
            lines.append(f"const {self.index} {prefix}{dim} = {rest} % {size};")
            rest = f"({rest} / {size})"
        return [*lines, f"const {self.index} {prefix}{dims[0]} = {rest};"]

    def collapses(self, access: Access, dims: Sequence[int]) -> bool:
        """Whether the flat index over `dims` is the element offset along them."""
        expected: Expr = 1
        for dim in reversed(dims):
            if not same(access.strides[dim], expected) and self.literal(access.strides[dim]) != self.literal(
                expected
            ):
                return False
            expected = times(expected, self.count((dim,)))
        return True

    def shape_of(self, access: Access, walk: Walk) -> Shape:
        """How the V elements of one step of `walk` lie in the buffer."""
        flat = bool(walk.dims) and self.collapses(access, walk.dims)
        if walk.vector == 1:
            return "flat" if flat else "inner"
        if flat and self._in_step(access, walk):
            return "flat"
        if all(access.strides[dim] == 0 for dim in walk.dims):
            return "splat"
        inner = walk.dims[-1]
        size = self._sizes[inner]
        if size is None or size % walk.vector or walk.shift is not None:
            return "gather"
        if access.strides[inner] == 0:
            return "splat"
        rest = [stride for dim, stride in enumerate(access.strides) if dim != inner]
        return (
            "inner"
            if access.strides[inner] == 1 and self._aligned([*rest, access.offset], walk.vector)
            else "gather"
        )

    def _in_step(self, access: Access, walk: Walk) -> bool:
        """Whether vectors of a flat access lie at multiples of their size."""
        places = [access.offset, *(s for dim, s in enumerate(access.strides) if dim not in walk.dims)]
        if walk.shift is None:
            return self._aligned(places, walk.vector)
        like = walk.shift
        others = [like.offset, *(s for dim, s in enumerate(like.strides) if dim not in walk.dims)]
        return all(self._congruent(a, b, walk.vector) for a, b in zip(places, others, strict=True))

    def _congruent(self, a: Expr, b: Expr, vector: int) -> bool:
        x, y = self.literal(a), self.literal(b)
        return same(a, b) if x is None or y is None else (x - y) % vector == 0

    def shift(self, walk: Walk, index: Callable[[int], str]) -> str:
        """By how many elements a row begins after a multiple of the vector; empty if always at one."""
        if walk.shift is None:
            return ""
        terms = [] if self.literal(walk.shift.offset) == 0 else [self.text(walk.shift.offset)]
        for dim, stride in enumerate(walk.shift.strides):
            if dim not in walk.dims and not self._aligned([stride], walk.vector):
                known = self.literal(stride)
                factor = self.text(stride) if known is None else str(known % walk.vector)
                terms.append(f"{index(dim)} * {factor}")
        return f"({' + '.join(terms)}) % {walk.vector}" if terms else ""

    def _aligned(self, exprs: Sequence[Expr], vector: int) -> bool:
        values = [self.literal(expr) for expr in exprs]
        return all(value is not None and value % vector == 0 for value in values)

    def offset(
        self, access: Access, index: Callable[[int], str], flat: tuple[Sequence[int], str] | None = None
    ) -> str:
        """Element offset as text, from `index(dim)`, or from a flat index where its dimensions collapse."""
        covered = set(flat[0]) if flat else set()
        terms = [flat[1]] if flat else []
        if self.literal(access.offset) != 0:
            terms.append(self.text(access.offset))
        for dim, stride in enumerate(access.strides):
            if stride != 0 and dim not in covered:
                factor = "" if self.literal(stride) == 1 else f" * {self.text(stride)}"
                terms.append(f"(long long){index(dim)}{factor}")
        return " + ".join(terms) or "0"


def vectors(sizes: Sizes, dims: tuple[int, ...], moved: Sequence[tuple[Access, Dtype]]) -> list[int]:
    """Numbers of elements that one access may move, the best first.

    At most 16 bytes of the widest type that varies along `dims`; widths at which some access would
    have to be gathered come last.
    """
    varying = [(access, dtype) for access, dtype in moved if any(access.strides[dim] != 0 for dim in dims)]
    widest = max((ITEM_BYTES[dtype] for _, dtype in varying), default=4)
    points = math.prod(sizes.region.dims[dim].extent for dim in dims)

    def gathers(vector: int) -> bool:
        return any(sizes.shape_of(access, Walk(dims, vector)) == "gather" for access, _ in varying)

    wide = [v for v in (16, 8, 4, 2) if v * widest <= 16 and points % v == 0]
    return sorted([*wide, 1], key=lambda vector: (gathers(vector), -vector))


def moved_by(region: Region) -> list[tuple[Access, Dtype]]:
    """Every access of a region with its stored type."""
    loads = [(node.access, node.dtype) for node in region.nodes if isinstance(node, Load)]
    return loads + [(store.access, store.dtype) for store in region.stores]
