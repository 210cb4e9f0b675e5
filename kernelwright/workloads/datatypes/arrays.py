"""Subarrays and distributed arrays as trees: one level for each dimension, the fastest innermost.

Sources: MPI 4.1, sections 5.1.3 (subarray) and 5.1.4 (distributed array). There a dimension of a
distributed array deals blocks of `darg` elements to the processes of its row in turns; what one of them
owns is written here as the list of its blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.workloads.datatypes.tree import Indexed, Node, Repeat, Shift, integers


def subarray(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    """`subsizes` elements from `starts` of an array of `sizes`, in either order."""
    node, pitch = old, extent
    rows = list(zip(given["sizes"], given["subsizes"], given["starts"], strict=True))
    for size, taken, start in _fastest_first(rows, given["order"]):
        node = Shift(start * pitch, Repeat(taken, pitch, node))
        pitch *= size
    return node


def darray(given: Mapping[str, Any], old: Node, extent: int) -> Node:
    """What process `rank` owns of an array of `gsizes` that is dealt to a grid of `psizes` processes."""
    node, pitch = old, extent
    places = _place(given["rank"], given["psizes"])
    rows = list(zip(given["gsizes"], given["distribs"], given["dargs"], given["psizes"], places, strict=True))
    for size, distribution, argument, processes, place in _fastest_first(rows, given["order"]):
        length = _block_length(size, distribution, argument, processes)
        starts = range(place * length, size, processes * length)
        counts = [min(length, size - start) for start in starts]
        node = Indexed(integers([start * pitch for start in starts]), integers(counts), pitch, node)
        pitch *= size
    return node


def _fastest_first(rows: list[Any], order: int) -> list[Any]:
    from mpi4py import MPI

    return rows if order == MPI.ORDER_FORTRAN else rows[::-1]


def _place(rank: int, processes: list[int]) -> list[int]:
    """Where a process stands in the grid: ranks run through the last dimension first, in both orders."""
    place = []
    for count in reversed(processes):
        rank, last = divmod(rank, count)
        place.append(last)
    return place[::-1]


def _block_length(size: int, distribution: int, argument: int, processes: int) -> int:
    """Elements that are dealt at a time."""
    from mpi4py import MPI

    if distribution == MPI.DISTRIBUTE_NONE:
        return max(size, 1)
    if argument != MPI.DISTRIBUTE_DFLT_DARG:
        return argument
    return -(-size // processes) if distribution == MPI.DISTRIBUTE_BLOCK else 1
