"""`Nest`: loops over factors become a `Region` over dimensions, ordered and as few as possible.

The order of the loops is that of the memory of the tensor that varies along most of them, stores
before loads, so that the innermost loop walks contiguous elements. Neighbouring loops that every
access walks as one are merged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.core.dtypes import Dtype
from kernelwright.graph.atoms import Atoms
from kernelwright.graph.loops import Access, Dim, Index, Load, Node, Region, SizeOf, Store

Strides = tuple[int, ...]


def contiguous_strides(shape: Sequence[int]) -> list[int]:
    """Strides, in elements, of a contiguous tensor."""
    strides = [1] * len(shape)
    for at in range(len(shape) - 2, -1, -1):
        strides[at] = strides[at + 1] * max(shape[at + 1], 1)
    return strides


@dataclass(frozen=True)
class Nest:
    """Loops over `factors`; accesses in `nodes` and `stores` have their strides by factor."""

    atoms: Atoms
    factors: Sequence[int]
    reduced: frozenset[int]
    nodes: Sequence[Node]
    stores: Sequence[Store]

    @staticmethod
    def by_factor(strides: Mapping[int, int]) -> Strides:
        """Strides as they travel in an `Access` until the order of the loops is known: factor, stride, ..."""
        return tuple(number for pair in sorted(strides.items()) for number in pair)

    def region(self, name: str, compute_dtype: Dtype) -> Region:
        """The region with its dimensions in order, merged where that is possible."""
        order = self._order()
        accesses = [self._strided(access, order) for access in self._accesses()]
        runs = self._merge(order, accesses)
        dims = tuple(
            Dim(f"d{at}", extent, extent)
            for at, extent in enumerate(self.atoms.extent(tuple(run)) for run in runs)
        )
        reduced = frozenset(at for at, run in enumerate(runs) if run[0] in self.reduced)
        number = {factor: at for at, factor in enumerate(order)}
        inner = [number[run[-1]] for run in runs]
        nodes = tuple(self._finish(node, order, inner, reduced) for node in self.nodes)
        stores = tuple(
            dataclasses.replace(store, access=self._final(store.access, order, inner))
            for store in self.stores
        )
        return Region(name, dims, reduced, nodes, stores, compute_dtype)

    def _accesses(self) -> list[Access]:
        return [store.access for store in self.stores] + [
            node.access for node in self.nodes if isinstance(node, Load)
        ]

    def _order(self) -> list[int]:
        """Outermost first: by the strides of the widest access, then of the next, for what it lacks."""
        tables = [_table(access) for access in self._accesses()]
        tables.sort(key=lambda table: -len(table))
        order: list[int] = []
        for table in tables:
            fresh = [factor for factor in table if factor not in order and factor in self.factors]
            order = sorted(fresh, key=lambda factor: -table[factor]) + order
        return [factor for factor in self.factors if factor not in order] + order

    def _strided(self, access: Access, order: Sequence[int]) -> Strides:
        table = _table(access)
        return tuple(table.get(factor, 0) for factor in order)

    def _merge(self, order: Sequence[int], accesses: Sequence[Strides]) -> list[list[int]]:
        runs: list[list[int]] = []
        counted = {node.dim for node in self.nodes if isinstance(node, Index)}
        for at, factor in enumerate(order):
            size = self.atoms.size(factor)
            joins = at > 0 and (factor in self.reduced) == (order[at - 1] in self.reduced)
            joins = joins and not counted & {factor, order[at - 1]}
            if joins and all(strides[at - 1] == strides[at] * size for strides in accesses):
                runs[-1].append(factor)
            else:
                runs.append([factor])
        return runs

    def _final(self, access: Access, order: Sequence[int], inner: Sequence[int]) -> Access:
        strides = self._strided(access, order)
        return dataclasses.replace(access, strides=tuple(strides[at] for at in inner))

    def _finish(
        self, node: Node, order: Sequence[int], inner: Sequence[int], reduced: frozenset[int]
    ) -> Node:
        if isinstance(node, Load):
            return dataclasses.replace(node, access=self._final(node.access, order, inner))
        if isinstance(node, Index):
            return Index(list(inner).index(list(order).index(node.dim)))
        if isinstance(node, SizeOf):
            return SizeOf(tuple(sorted(reduced)), node.dtype)
        return node


def _table(access: Access) -> dict[int, int]:
    numbers = [int(stride) for stride in access.strides]
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
