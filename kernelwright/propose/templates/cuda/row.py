"""Reductions along contiguous memory in one launch: each row is read once where it can be held.

A row belongs to a *team*: some lanes of a warp, a block, a cluster of blocks that exchange partial
states through distributed shared memory, or a set of blocks of a cooperative launch that exchange them
through global memory. The team folds each pass, merges in fixed order, and goes on; between passes it
holds the row in registers or shared memory, or reads it again, in alternating direction so that the
second read begins in what the caches still have.

Blocks wait for each other only where all that are waited for are at work: those of a cluster start
together, and a cooperative launch starts only if the device has room for all of its blocks.

The row length is a literal of the source; the number of rows is not. Not here: rows that many blocks
must share without being co-resident (`cuda_channel`), and strided reductions (`cuda_column`).
"""

from __future__ import annotations

import math

from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda.folds import Schedule
from kernelwright.propose.templates.cuda.guess import (
    HELD_MOST,
    hold_for,
    team_for,
    teams_for,
    threads_for,
)
from kernelwright.propose.templates.cuda.hold import HOLDS, element_bytes, loaded_late, reused
from kernelwright.propose.templates.cuda.kept import racing
from kernelwright.propose.templates.cuda.nest import flatten
from kernelwright.propose.templates.cuda.pointers import LOAD_HINTS, STORE_HINTS, aliasing
from kernelwright.propose.templates.cuda.row_text import RowText
from kernelwright.propose.templates.cuda.rows import along_rows, contiguous, row_vectors
from kernelwright.propose.templates.cuda.team import MULTIPROCESSORS


class CudaRow:
    """Template for reductions whose reduced dimensions are innermost in memory."""

    name = "cuda_row"
    target: TargetName = "cuda"

    def unavailable(self, region: Region) -> str | None:
        """Why this template cannot serve `region`, or None if it can."""
        if not region.reduced:
            return "the region does not reduce"
        region = flatten(region)
        kept, reduced = along_rows(region)
        if not contiguous(region, reduced) and contiguous(region, kept):
            return "the kept dimension is the contiguous one"
        schedule = Schedule(region, online=False)
        rows, length = (math.prod(region.dims[dim].extent for dim in dims) for dims in (kept, reduced))
        held = length * element_bytes(schedule, reused(schedule))
        if held > MULTIPROCESSORS * HELD_MOST:
            return "the rows are too long to be held"
        if not held and length > 2**16 and rows < 4 * MULTIPROCESSORS:
            return "the rows are few and long"
        return aliasing(region) or racing(schedule)

    def space(self, region: Region) -> Space:
        """Team, block size, hold, vector width, loads in flight, cache hints, grid, stages, statistics."""
        region = flatten(region)
        kept, reduced = along_rows(region)
        schedule = Schedule(region, online=False)
        rows, length = (math.prod(region.dims[dim].extent for dim in dims) for dims in (kept, reduced))
        held = length * element_bytes(schedule, reused(schedule))
        widths = row_vectors(region, reduced)
        saves = len(Schedule(region, online=True).passes) < len(schedule.passes)
        guess = team_for(rows, length, held)
        team, ring = guess.team, guess.waves > 0
        hold = hold_for(team, length)
        # To go over what is held once more is cheap, unless many blocks then have to meet twice.
        near = held and team.startswith(("lanes", "block"))
        statistics = "online" if saves and not near else "two_pass"
        waits = team.startswith("grid") or bool(loaded_late(schedule))
        unroll = (8 if team.startswith("lanes") else 4) if hold == "registers" else 4 if waits else 2
        return Space(
            (
                Parameter("team", teams_for(length, held), team),
                Parameter("threads", (64, 128, 256, 512, 1024), threads_for(guess, length, widths[0])),
                Parameter("hold", HOLDS if held else ("reload",), hold if held else "reload"),
                Parameter("vector", tuple(sorted(widths)), widths[0]),
                Parameter("unroll", (1, 2, 4, 8), unroll),
                Parameter("load", tuple(LOAD_HINTS), "cached"),
                Parameter("store", tuple(STORE_HINTS), "cached"),
                Parameter("waves", (0, 1, 2, 4), guess.waves),
                Parameter("stages", (1, 2) if held else (1,), 2 if ring else 1),
                Parameter("statistics", ("two_pass", "online"), statistics),
            )
        )

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One kernel and its launch (after a memset of messages where a grid is the team)."""
        return RowText(flatten(region), choice, entry).emitted()
