"""Who works on one row of a reduction: lanes of a warp, a block, a cluster, or blocks of a whole grid."""

from __future__ import annotations

from dataclasses import dataclass

LANES = ("lanes8", "lanes16", "lanes32")
CLUSTERS = ("cluster2", "cluster4", "cluster8", "cluster16")
GRIDS = ("grid16", "grid33", "grid44", "grid66", "grid132")
_HELD_GOAL = 100 * 1024
"""Bytes of a row that a block should hold at most, so that two blocks share a multiprocessor."""
HELD_MOST = 216 * 1024
"""Bytes of a row that a block can hold at most."""


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

    @classmethod
    def of(cls, text: str, threads: int) -> Team:
        """From the values of parameters `team` and `threads`."""
        kind = text.rstrip("0123456789")
        number = int(text[len(kind) :] or 1)
        if kind == "lanes":
            return cls(number, threads)
        return cls(threads, threads, number, kind)


def teams_for(length: int, held: int) -> tuple[tuple[str, ...], str]:
    """Teams worth trying for rows of this length, and the first guess."""
    found: list[str] = []
    if length <= 4096:
        found += LANES
    found.append("block")
    if length >= 2**14:
        found += CLUSTERS
    if held > 2**20:
        found += GRIDS
    if length <= 1024 or (length <= 4096 and 0 < held <= 2**14):
        return tuple(found), "lanes8" if length <= 32 else "lanes16" if length <= 128 else "lanes32"
    if held <= _HELD_GOAL:
        return tuple(found), "block"
    for team in CLUSTERS:
        blocks = int(team.removeprefix("cluster"))
        if team in found and held <= blocks * _HELD_GOAL:
            return tuple(found), team
    return tuple(found), found[-1]


def threads_for(team: str, length: int, vector: int) -> int:
    """The first guess of a block's threads: about 16 elements each where a block has a row to itself."""
    if team.startswith("lanes"):
        return 256
    if team.startswith("block"):
        wanted = length // (vector * 4)
        return next((threads for threads in (128, 256, 512) if threads >= wanted), 1024)
    return 512
