"""A column reduction in two, so that rows of odd length can be read in whole vectors.

The rows of a (4096, 4095) matrix do not begin at multiples of a vector, but four rows together do: seen as
(1024, 16380) every vector is whole. So a first region folds groups of rows into one group, which a second
one, far smaller, folds into a row. Only for reductions that depend on no other and store no full value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from kernelwright.core.dtypes import FLOATS, ITEM_BYTES, Dtype
from kernelwright.core.plan import Buffer
from kernelwright.graph.loops import (
    Access,
    Apply,
    Const,
    Dim,
    Index,
    Load,
    Node,
    Reduce,
    Region,
    SizeOf,
    Store,
)
from kernelwright.propose.templates.cuda.emit import closure
from kernelwright.propose.templates.cuda.nest import same, times


@dataclass(frozen=True)
class Halves:
    """Two regions that do one's work, and the buffers between them."""

    first: Region
    second: Region
    between: tuple[Buffer, ...]


def group_of(region: Region) -> int:
    """Rows that make whole vectors together; 1 where single ones do, or where the region cannot be halved."""
    if len(region.dims) < 2 or len(region.reduced) != 1 or not _halves(region):
        return 1
    inner, rows = region.dims[-2].size, region.dims[-1].size
    widest = max(ITEM_BYTES[node.dtype] for node in region.nodes if isinstance(node, Load))
    if not isinstance(inner, int) or not isinstance(rows, int) or inner < 64:
        return 1
    group = math.lcm(inner, max(1, 16 // widest)) // inner
    return group if rows % group == 0 and rows >= 64 * group else 1


def _halves(region: Region) -> bool:
    """Whether all that is folded lies in whole rows, and nothing else is full."""
    if any(isinstance(node, Index) for node in region.nodes) or max(region.phases) != 1:
        return False
    if any(store.access.strides[-1] != 0 for store in region.stores):
        return False
    if any(isinstance(n, SizeOf) and not all(_known(region, dim) for dim in n.dims) for n in region.nodes):
        return False
    loads = [node for node in _folded(region) if isinstance(node, Load)]
    size = region.dims[-2].size
    return bool(loads) and all(
        node.access.strides[-2] == 1 and same(node.access.strides[-1], times(1, size)) for node in loads
    )


def _known(region: Region, dim: int) -> bool:
    return isinstance(region.dims[dim].size, int)


def _reduces(region: Region) -> list[int]:
    return [at for at, node in enumerate(region.nodes) if isinstance(node, Reduce)]


def _folded(region: Region) -> list[Node]:
    return [region.nodes[at] for at in closure(region, _reduces(region), frozenset())]


def halved(region: Region, group: int, entry: str) -> Halves:
    """The two regions for a flattened one of which `group_of` is `group`."""
    *outer, inner, rows = region.dims
    assert isinstance(rows.size, int)
    groups = Dim("groups", rows.size // group, rows.extent // group)
    within = Dim("within", group, group)
    names = {at: f"{entry}_group{at}" for at in _reduces(region)}
    first = _first(region, (*outer, within, inner, groups), group, names)
    second = _second(region, (*outer, inner, within), names)
    shape = [dim.size for dim in (*outer, within, inner)]
    return Halves(first, second, tuple(_buffer(region, at, name, shape) for at, name in names.items()))


def _buffer(region: Region, at: int, name: str, shape: list[int | str]) -> Buffer:
    words = max(1, ITEM_BYTES[_between(region, at)] // 4)
    return Buffer(name=name, role="scratch", dtype="int32", shape=(*shape, words))


def _between(region: Region, at: int) -> Dtype:
    """The type that a fold's result waits in: the one it is computed in."""
    node = region.nodes[at]
    assert isinstance(node, Reduce)
    return region.compute_dtype if node.dtype in FLOATS and node.dtype != "float64" else node.dtype


def _waiting(dims: tuple[Dim, ...], order: tuple[int, ...], name: str) -> Access:
    """A contiguous buffer over the dimensions `order` of `dims`."""
    strides: list[int | str] = [0] * len(dims)
    stride: int | str = 1
    for dim in reversed(order):
        strides[dim] = stride
        stride = times(dims[dim].size, stride)
    return Access(name, tuple(strides))


def _first(region: Region, dims: tuple[Dim, ...], group: int, names: dict[int, str]) -> Region:
    """Folds groups of rows: dimensions (outer, within the group, inner, groups)."""
    needed = closure(region, names, frozenset())
    place = {at: number for number, at in enumerate(needed)}
    nodes = [_moved(region.nodes[at], place, lambda access: _split(access, group)) for at in needed]
    last = len(dims) - 1
    stores = tuple(
        Store(_waiting(dims, tuple(range(last)), name), place[at], _between(region, at))
        for at, name in names.items()
    )
    return Region(
        f"{region.name}_groups", dims, frozenset({last}), tuple(nodes), stores, region.compute_dtype
    )


def _split(access: Access, group: int) -> Access:
    *outer, inner, row = access.strides
    return replace(access, strides=(*outer, row, inner, times(row, group)))


def _second(region: Region, dims: tuple[Dim, ...], names: dict[int, str]) -> Region:
    """Folds a group into a row: dimensions (outer, inner, within the group)."""
    wanted = closure(region, [store.value for store in region.stores], frozenset(names))
    last = len(dims) - 1
    order = (*range(last - 1), last, last - 1)
    nodes: list[Node] = []
    place: dict[int, int] = {}
    for at in sorted({*wanted, *names}):
        node = region.nodes[at]
        if isinstance(node, Reduce):
            nodes.append(Load(_waiting(dims, order, names[at]), _between(region, at)))
            node = Reduce(node.op, len(nodes) - 1, node.dtype)
        elif isinstance(node, SizeOf):
            node = Const(math.prod(region.dims[dim].extent for dim in node.dims), node.dtype)
        else:
            node = _moved(node, place, lambda access: access)
        place[at] = len(nodes)
        nodes.append(node)
    stores = tuple(Store(store.access, place[store.value], store.dtype) for store in region.stores)
    return Region(region.name, dims, frozenset({last}), tuple(nodes), stores, region.compute_dtype)


def _moved(node: Node, place: dict[int, int], access: Callable[[Access], Access]) -> Node:
    match node:
        case Load():
            return replace(node, access=access(node.access))
        case Apply(args=args):
            return replace(node, args=tuple(place[arg] for arg in args))
        case Reduce(arg=arg):
            return replace(node, arg=place[arg])
    return node
