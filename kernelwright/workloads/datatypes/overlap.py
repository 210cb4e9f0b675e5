"""Whether blocks of a datatype overlap: unpacking through such a type is erroneous, and is refused.

Not covered: whether buffers of two calls overlap.
"""

from __future__ import annotations

import numpy as np

from kernelwright.workloads.datatypes.canonical import Canonical
from kernelwright.workloads.datatypes.expand import expanded
from kernelwright.workloads.datatypes.tree import Blocks, Repeat


def disjoint(form: Canonical, count: int, extent: int) -> bool:
    """Whether no byte belongs to two blocks of `count` elements that lie `extent` bytes apart.

    Levels whose strides are not less than the reach of all smaller ones prove it at once. Where they
    interleave in another way all blocks are sorted, which takes seconds for millions of them; UsageError
    where there are too many for that (`expand`).
    """
    if count == 0:
        return True
    if not _apart(Blocks(form.offsets, form.sizes)):
        return False
    levels = [*form.levels, (count, extent)] if count > 1 else form.levels
    low, high = Canonical((), form.offsets, form.sizes).span()
    reach = high - low
    for times, stride in sorted(levels, key=lambda level: abs(level[1])):
        if abs(stride) < reach:
            return _apart(expanded(Repeat(count, extent, form.node())))
        reach += (times - 1) * abs(stride)
    return True


def _apart(blocks: Blocks) -> bool:
    order = np.argsort(blocks.offsets, kind="stable")
    offsets, sizes = blocks.offsets[order], blocks.sizes[order]
    return bool((offsets[1:] >= offsets[:-1] + sizes[:-1]).all())
