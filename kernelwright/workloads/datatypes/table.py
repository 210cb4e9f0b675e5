"""A canonical form as the kernels read it: a table of 64-bit integers, laid out as `kernels/move.h` says."""

from __future__ import annotations

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes.canonical import Canonical
from kernelwright.workloads.datatypes.expand import MOST_BLOCKS, expanded
from kernelwright.workloads.datatypes.tree import Block, Blocks, Indexed, Integers, integers

MOST_LEVELS = 31
"""One less than in `move.h`, where the elements of a call are a level too."""
LEAST_PART, MOST_PARTS = 4, 4
"""Bytes of a part, and parts of a block in the mean, for which a list is read in equal parts."""


def table_of(form: Canonical, extent: int) -> Integers:
    """The form as the kernels read it (`move.h`). UsageError for more levels than they count."""
    if len(form.levels) > MOST_LEVELS:
        raise UsageError(
            f"the datatype repeats on {len(form.levels)} levels, and at most {MOST_LEVELS} are served; "
            "build it with fewer steps"
        )
    blocks = evened(form.offsets, form.sizes)
    size = int(blocks.sizes[0]) if len(blocks.sizes) and (blocks.sizes == blocks.sizes[0]).all() else 0
    head = [len(form.levels), len(blocks.offsets), size, extent, sum(form.sizes.tolist())]
    levels = [number for level in form.levels for number in level]
    return np.concatenate([integers(head), integers(levels), blocks.offsets, blocks.sizes])


def evened(offsets: Integers, sizes: Integers) -> Blocks:
    """The same bytes in blocks of one size, where that makes at most MOST_PARTS of a block.

    Code for one size is several times as fast as code that asks for the size of each block, as it cannot
    mispredict. Blocks below LEAST_PART stay as they are.
    """
    part = int(np.gcd.reduce(sizes)) if len(sizes) > 1 else 0
    parts = int(sizes.sum()) // max(part, 1)
    if part < LEAST_PART or parts in (len(sizes), 0) or parts > min(MOST_PARTS * len(sizes), MOST_BLOCKS):
        return Blocks(offsets, sizes)
    counts = sizes // part
    return expanded(Indexed(offsets, counts, part, Block(part)))
