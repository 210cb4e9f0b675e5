"""First guesses for a row reduction: who works on a row, in what blocks, and where the row is held.

All go by what was fastest on an H200: lanes, a block or a cluster where they can hold a row between them,
else a few blocks that read it again. A search takes over from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.propose.templates.cuda.hold import HoldKind
from kernelwright.propose.templates.cuda.team import CLUSTERS, GRIDS, LANES, MULTIPROCESSORS

HELD_MOST = 216 * 1024
"""Bytes of a row that a block can hold at most."""
_HELD_GOAL = 100 * 1024
"""Bytes of a row that a block should hold at most, so that two blocks share a multiprocessor."""
_LANE_LENGTH = 2048
"""Elements of a row that the registers of a warp can hold beside its work."""
_SHARERS = 12
"""Blocks that read a row again together, where there are rows enough."""
_FEWEST = 8
"""Blocks for each row below which a device's worth of them counts as rows enough."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Who works on a row: the value of `team`, and blocks for each place (0 where rows are not strided)."""

    team: str
    waves: int


def teams_for(length: int, held: int) -> tuple[str, ...]:
    """Teams worth trying for rows of this length, of which `held` bytes are kept."""
    found: list[str] = []
    if length <= 4096:
        found += LANES
    found.append("block")
    if length >= 2**14:
        found += CLUSTERS
    if held > _HELD_GOAL:
        found += GRIDS
    return tuple(found)


def team_for(rows: int, length: int, held: int) -> Guess:
    """The first guess for so many rows of which `held` bytes are kept."""
    if length <= 1024 or (length <= 4096 and 0 < held <= 2**14):
        return Guess("lanes8" if length <= 32 else "lanes16" if length <= 128 else "lanes32", 0)
    if held <= _HELD_GOAL:
        return Guess("block", 0)
    # Two blocks are always placed together; larger clusters may not find room for all at a time.
    if held <= 2 * _HELD_GOAL:
        return Guess("cluster2", 1)
    if not beyond_clusters(held):
        return Guess(next(team for team in CLUSTERS if held <= _blocks(team) * _HELD_GOAL), 0)
    if rows * _FEWEST <= MULTIPROCESSORS:
        return Guess(f"grid{_sharers(MULTIPROCESSORS // rows)}", 1)
    return Guess(f"grid{_SHARERS}", 2)


def beyond_clusters(held: int) -> bool:
    """Whether rows are too long for a cluster to hold, two blocks to a multiprocessor."""
    return held > max(map(_blocks, CLUSTERS)) * _HELD_GOAL


def _sharers(most: int) -> int:
    """Blocks of the largest grid team that has no more than `most`."""
    return max(blocks for blocks in map(_blocks, GRIDS) if blocks <= most)


def _blocks(team: str) -> int:
    return int(team.lstrip("abcdefghijklmnopqrstuvwxyz"))


def threads_for(guess: Guess, length: int, vector: int) -> int:
    """Threads of a block: about 16 elements each where a block has a row to itself."""
    team = guess.team
    if team.startswith("lanes"):
        return 256 if length <= _LANE_LENGTH else 128
    if team.startswith("block"):
        wanted = length // (vector * 4)
        return next((threads for threads in (128, 256, 512) if threads >= wanted), 1024)
    return 1024 if team.startswith("grid") and guess.waves == 1 else 512


def hold_for(team: str, length: int) -> HoldKind:
    """Where a row is held."""
    in_registers = team == "block" or (team.startswith("lanes") and length <= _LANE_LENGTH)
    return "registers" if in_registers else "shared"
