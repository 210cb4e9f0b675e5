"""The shapes that the benchmark packs: rows of bytes in an array, in two dimensions and in three.

The grid is that of TEMPI's `bench_mpi_pack` (Pearson et al., HPDC 2021): blocks of 1 to 512 bytes, 512 bytes
apart, up to 4 MiB; and here, too, blocks as far apart as they are long. Blocks of 512 bytes lie 1024 apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
BYTES = (1 << 10, 1 << 14, 1 << 16, 1 << 20, 1 << 22)
KINDS = ("vector 2-D", "subarray 2-D", "hvector 3-D", "subarray 3-D")
MOST_MEMORY = 1 << 29
"""Points whose array would be larger are left out: some of 1 and 4 MiB in blocks of 1 and 2 bytes."""


@dataclass(frozen=True, slots=True)
class Point:
    """One datatype of the grid."""

    kind: str
    bytes: int
    """Packed."""
    block: int
    """Bytes without a gap."""
    pitch: int
    """Bytes from one block to the next."""

    @property
    def rows(self) -> tuple[int, int]:
        """Blocks in a plane, and planes; one plane in two dimensions."""
        blocks = self.bytes // self.block
        planes = 1 << ((blocks.bit_length() - 1) // 2) if self.kind.endswith("3-D") else 1
        return blocks // planes, planes

    @property
    def memory(self) -> int:
        """Bytes of the array; in three dimensions every other row is left out."""
        rows, planes = self.rows
        return self.pitch * rows * planes * (2 if planes > 1 else 1)

    def datatype(self) -> Any:
        """The type, committed; the caller frees it."""
        from mpi4py import MPI

        rows, planes = self.rows
        if self.kind == "vector 2-D":
            return MPI.BYTE.Create_vector(rows, self.block, self.pitch).Commit()
        if self.kind == "hvector 3-D":
            plane = MPI.BYTE.Create_vector(rows, self.block, self.pitch)
            made = plane.Create_hvector(planes, 1, self.memory // planes).Commit()
            plane.Free()
            return made
        sizes, taken = [rows, self.pitch], [rows, self.block]
        if self.kind == "subarray 3-D":
            sizes, taken = [planes, self.memory // planes // self.pitch, self.pitch], [planes, *taken]
        return MPI.BYTE.Create_subarray(sizes, taken, [0] * len(sizes)).Commit()


def points(
    kinds: tuple[str, ...] = KINDS, sizes: tuple[int, ...] = BYTES, blocks: tuple[int, ...] = BLOCKS
) -> Iterator[Point]:
    """The grid: every kind, size, block and pitch whose array is not too large."""
    for kind in kinds:
        for size in sizes:
            for block in blocks:
                for pitch in sorted({2 * block, max(512, 2 * block)}):
                    point = Point(kind, size, block, pitch)
                    if block < size and point.memory <= MOST_MEMORY:
                        yield point
