"""Which axes a target's kernels want as literals, because a number of an inner loop depends on them.

The rest may be arguments of the kernel: how often an outer loop goes round costs nothing. On a CPU the
vector loop wants its length and its strides known, unless it is one flat loop that is cut into tiles
anyway. On CUDA all strides tell how far vectors are aligned, and only the outermost kept loop is spread
over the grid.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.core.expr import Expr, names
from kernelwright.core.target import TargetName
from kernelwright.graph.cut import Partition
from kernelwright.graph.loops import Access, Load, Region

Literals = Callable[[Partition], frozenset[str]]


def on_cpu(partition: Partition) -> frozenset[str]:
    """Axes of the innermost loops, and of strides along them."""
    found: list[Expr] = []
    for region in partition.regions:
        if region.reduced or len(region.dims) > 1:
            found += [dim.size for dim in region.dims[-1:]]
        found += [stride for access in _accesses(region) for stride in access.strides[-1:]]
    return _named(found)


def on_cuda(partition: Partition) -> frozenset[str]:
    """Axes of strides, and of all loops but the outermost kept one."""
    found: list[Expr] = []
    for region in partition.regions:
        kept = [at for at in range(len(region.dims)) if at not in region.reduced]
        found += [dim.size for at, dim in enumerate(region.dims) if at not in kept[:1]]
        for access in _accesses(region):
            found += [*access.strides, access.offset]
    return _named(found)


LITERALS: dict[TargetName, Literals] = {"cpu": on_cpu, "cuda": on_cuda}


def _accesses(region: Region) -> list[Access]:
    loads = [node.access for node in region.nodes if isinstance(node, Load)]
    return loads + [store.access for store in region.stores]


def _named(exprs: list[Expr]) -> frozenset[str]:
    return frozenset().union(*(names(expr) for expr in exprs))
