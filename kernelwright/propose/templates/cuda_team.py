"""Who works on one row of a reduction: lanes of a warp, a block, a cluster, or blocks of a whole grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelwright.propose.templates.cuda_hold import HoldKind

LANES = ("lanes8", "lanes16", "lanes32")
CLUSTERS = ("cluster2", "cluster4", "cluster8", "cluster16")
MULTIPROCESSORS = 132
"""Of an H200."""
GRIDS = tuple(f"grid{blocks}" for blocks in (2, 3, 4, 6, 11, 12, 22, 33, 44, 66, 132))
"""Divisors of the number of multiprocessors, so that every one belongs to a team."""
_HELD_GOAL = 100 * 1024
"""Bytes of a row that a block should hold at most, so that two blocks share a multiprocessor."""
HELD_MOST = 216 * 1024
"""Bytes of a row that a block can hold at most."""
_LANE_LENGTH = 2048
"""Elements of a row that the registers of a warp can hold beside its work."""
_AHEAD = 70 * 1024
"""Bytes that should be on their way to a multiprocessor while its team merges."""
_BYTES_PER_US = 32_000
"""A multiprocessor's part of the memory traffic."""
_WORKED_PER_US = 40_000
"""Bytes of a row that a block folds and stores, a guess."""
_MERGE_US = 3.5
"""A merge through global memory, a guess."""


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


def teams_for(rows: int, length: int, held: int) -> tuple[tuple[str, ...], str]:
    """Teams worth trying for rows of this length, of which `held` bytes are kept; and the first guess."""
    found: list[str] = []
    if length <= 4096:
        found += LANES
    found.append("block")
    if length >= 2**14:
        found += CLUSTERS
    if held > _HELD_GOAL:
        found += GRIDS
    if length <= 1024 or (length <= 4096 and 0 < held <= 2**14):
        return tuple(found), "lanes8" if length <= 32 else "lanes16" if length <= 128 else "lanes32"
    if held <= _HELD_GOAL:
        return tuple(found), "block"
    # Two blocks are always placed together; larger clusters may not find room for all at a time.
    return tuple(found), "cluster2" if held <= 2 * _HELD_GOAL else _grid_for(rows, held)


def _grid_for(rows: int, held: int) -> str:
    """The blocks of a grid that share a row: no more than leave room for what is to come."""

    def microseconds(team: str) -> float:
        blocks = int(team.removeprefix("grid"))
        share = held / blocks
        if share > HELD_MOST:
            return math.inf
        moving = (2 * share + max(0.0, _AHEAD - (HELD_MOST - share))) / _BYTES_PER_US
        return math.ceil(rows / (MULTIPROCESSORS // blocks)) * max(moving, _MERGE_US + share / _WORKED_PER_US)

    return min(GRIDS, key=microseconds)


def persistent(team: str) -> bool:
    """Whether a team should go from row to row, with the next one on its way."""
    return team == "cluster2" or team.startswith("grid")


def threads_for(team: str, length: int, vector: int) -> int:
    """The first guess of a block's threads: about 16 elements each where a block has a row to itself."""
    if team.startswith("lanes"):
        return 256 if length <= _LANE_LENGTH else 128
    if team.startswith("block"):
        wanted = length // (vector * 4)
        return next((threads for threads in (128, 256, 512) if threads >= wanted), 1024)
    return 512


def hold_for(team: str, length: int) -> HoldKind:
    """The first guess of where a row is held."""
    in_registers = team == "block" or (team.startswith("lanes") and length <= _LANE_LENGTH)
    return "registers" if in_registers else "shared"
