"""Who works on one row of a reduction: lanes of a warp, a block, a cluster, or blocks of a whole grid."""

from __future__ import annotations

from dataclasses import dataclass

LANES = ("lanes8", "lanes16", "lanes32")
CLUSTERS = ("cluster2", "cluster4", "cluster8", "cluster16")
MULTIPROCESSORS = 132
"""Of an H200."""
GRIDS = tuple(f"grid{blocks}" for blocks in (2, 3, 4, 6, 8, 11, 12, 22, 24, 33, 44, 66, 88, 132))
"""Divisors of the multiprocessors, or of twice as many, so that every one belongs to a team."""


@dataclass(frozen=True)
class Team:
    """Who works on a row."""

    lanes: int
    """Threads of a block on one row."""
    threads: int
    """Threads of a block."""
    blocks: int = 1
    """Blocks on one row."""
    over: str = "block"
    """`block`, `cluster` or `grid`."""

    @property
    def rows(self) -> int:
        """Rows that a block works on at a time."""
        return self.threads // self.lanes

    def waves(self, wanted: int) -> int:
        """Blocks for each place of a grid; those of a team must all be at work at a time."""
        return min(max(1, wanted), 2048 // self.threads) if self.over == "grid" else wanted

    @classmethod
    def of(cls, text: str, threads: int) -> Team:
        """From the values of parameters `team` and `threads`."""
        kind = text.rstrip("0123456789")
        number = int(text[len(kind) :] or 1)
        if kind == "lanes":
            return cls(number, threads)
        return cls(threads, threads, number, kind)
