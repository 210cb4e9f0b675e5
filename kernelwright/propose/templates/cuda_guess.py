"""First guesses for a row reduction: who works on a row, in what blocks, and where the row is held.

Rows that a block can hold go by measured rules. For longer ones a model of one multiprocessor compares
the teams that a grid can be cut into: a row takes the time to move it, to work on it, or to work on it and
meet, whichever is longest. Its constants are rough; a search takes over from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelwright.graph.loops import Apply
from kernelwright.propose.templates.cuda_emit import closure
from kernelwright.propose.templates.cuda_folds import Schedule
from kernelwright.propose.templates.cuda_hold import RESERVED_BYTES, SHARED_BYTES, HoldKind
from kernelwright.propose.templates.cuda_team import CLUSTERS, GRIDS, LANES, MULTIPROCESSORS

HELD_MOST = 216 * 1024
"""Bytes of a row that a block can hold at most."""
_HELD_GOAL = 100 * 1024
"""Bytes of a row that a block should hold at most, so that two blocks share a multiprocessor."""
_LANE_LENGTH = 2048
"""Elements of a row that the registers of a warp can hold beside its work."""
_AHEAD = 70 * 1024
"""Bytes that should be on their way to a multiprocessor while its blocks merge."""
_BYTES_PER_US = 32_000
"""A multiprocessor's part of the memory traffic."""
_INSTRUCTIONS_PER_US = 146_000
"""Of a multiprocessor's threads, at two thirds of what it can issue."""
_MERGE_US = 3.0
"""Of few blocks through global memory; a microsecond more for each 66."""
_DEAR = {
    "exp": 10,
    "log": 12,
    "div": 6,
    "tanh": 20,
    "erf": 20,
    "sigmoid": 18,
    "sqrt": 8,
    "rsqrt": 10,
    "pow": 40,
}
"""Instructions of an operation, where it is more than a few."""
_FOLDED = {"kw_softsum": 14, "kw_moments": 7}


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


def team_for(rows: int, length: int, held: int, work: int) -> Guess:
    """The first guess; `work` is `work_of` the schedule."""
    if length <= 1024 or (length <= 4096 and 0 < held <= 2**14):
        return Guess("lanes8" if length <= 32 else "lanes16" if length <= 128 else "lanes32", 0)
    if held <= _HELD_GOAL:
        return Guess("block", 0)
    # Two blocks are always placed together; larger clusters may not find room for all at a time.
    if held <= 2 * _HELD_GOAL:
        return Guess("cluster2", 1)
    guesses = [Guess(team, waves) for waves in (1, 2) for team in GRIDS]
    return min(guesses, key=lambda guess: _microseconds(guess, rows, length, held, work))


def _microseconds(guess: Guess, rows: int, length: int, held: int, work: int) -> float:
    blocks, waves = int(guess.team.removeprefix("grid")), guess.waves
    teams, share = waves * MULTIPROCESSORS // blocks, held / blocks
    room = (SHARED_BYTES - RESERVED_BYTES) / waves
    if share > room or teams == 0:
        return math.inf
    moved = waves * (2 * share + max(0.0, _AHEAD / waves - (room - share))) / _BYTES_PER_US
    worked = work * length / blocks / _INSTRUCTIONS_PER_US
    merged = _MERGE_US + blocks / 66
    return math.ceil(rows / teams) * max(moved, waves * worked, worked + merged)


def work_of(schedule: Schedule) -> int:
    """Instructions for one element, all passes together, roughly."""
    region, known = schedule.region, schedule.at_hand()
    rounds = [[fold.arg for fold in folds] for folds in schedule.passes]
    rounds.append([region.stores[at].value for at in schedule.full_stores])
    folded = sum(_FOLDED.get(fold.state.partition("<")[0], 2) for folds in schedule.passes for fold in folds)
    nodes = [region.nodes[at] for targets in rounds for at in closure(region, targets, known)]
    return folded + sum(4 if not isinstance(n, Apply) else _DEAR.get(n.op, 1) for n in nodes)


def threads_for(team: str, length: int, vector: int) -> int:
    """Threads of a block: about 16 elements each where a block has a row to itself."""
    if team.startswith("lanes"):
        return 256 if length <= _LANE_LENGTH else 128
    if team.startswith("block"):
        wanted = length // (vector * 4)
        return next((threads for threads in (128, 256, 512) if threads >= wanted), 1024)
    return 512


def hold_for(team: str, length: int) -> HoldKind:
    """Where a row is held."""
    in_registers = team == "block" or (team.startswith("lanes") and length <= _LANE_LENGTH)
    return "registers" if in_registers else "shared"
