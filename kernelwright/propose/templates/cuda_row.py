"""Reductions along contiguous memory in one launch: each row is read once where it can be held.

A row belongs to a *team*: some lanes of a warp, a block, a cluster of blocks that exchange partial
states through distributed shared memory, or (for rows of many megabytes) a set of co-resident blocks
of a cooperative launch that exchange them through global memory. The team folds each pass, merges in
fixed order, and goes on; between passes it holds the row in registers or shared memory, or reads it
again, in alternating direction so that the second read begins in what the caches still have.

The row length is a literal of the source; the number of rows is not. Not here: rows that many blocks
must share without being co-resident (`cuda_channel`), and strided reductions (`cuda_column`).
"""

from __future__ import annotations

import math

from kernelwright.core.expr import Expr
from kernelwright.core.plan import Buffer, BufferArg, Launch, Memset, Step
from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Access, Load, Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda_emit import REDUCE_HEADER
from kernelwright.propose.templates.cuda_folds import Schedule
from kernelwright.propose.templates.cuda_hold import HOLDS, Hold, element_bytes, reused, settle
from kernelwright.propose.templates.cuda_kept import Kept, racing
from kernelwright.propose.templates.cuda_loops import Loop
from kernelwright.propose.templates.cuda_nest import Sizes, Walk, flatten, moved_by, vectors
from kernelwright.propose.templates.cuda_pointers import LOAD_HINTS, STORE_HINTS, Pointers, aliasing
from kernelwright.propose.templates.cuda_pointwise import MULTIPROCESSORS
from kernelwright.propose.templates.cuda_team import HELD_MOST, Team, teams_for, threads_for
from kernelwright.propose.templates.cuda_text import (
    clamped,
    indented,
    result_lines,
    struct_bytes,
    struct_text,
    used,
)


def along_rows(region: Region) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Kept and reduced dimensions of a flattened region, in order."""
    dims = range(len(region.dims))
    return tuple(d for d in dims if d not in region.reduced), tuple(d for d in dims if d in region.reduced)


def contiguous(region: Region, dims: tuple[int, ...]) -> bool:
    """Whether some full load has neighbours in memory along the innermost of `dims`."""
    return bool(dims) and any(
        isinstance(node, Load) and region.full[at] and node.access.strides[dims[-1]] == 1
        for at, node in enumerate(region.nodes)
    )


def row_vectors(region: Region, dims: tuple[int, ...]) -> list[int]:
    """Vector widths that a walk over `dims` allows, widest first."""
    sizes = Sizes(region, lambda dim: dim in region.reduced or dim > 0)
    return vectors(sizes, dims, moved_by(region))


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
        _, reduced = along_rows(region)
        schedule = Schedule(region, online=False)
        length = math.prod(region.dims[dim].extent for dim in reduced)
        held = length * element_bytes(schedule, reused(schedule))
        widths = row_vectors(region, reduced)
        teams, team = teams_for(length, held)
        threads = threads_for(team, length, widths[0])
        hold = "registers" if team.startswith(("lanes", "block")) else "shared"
        saves = len(Schedule(region, online=True).passes) < len(schedule.passes)
        again = held and hold == "registers"
        online = "online" if saves and not again else "two_pass"
        waves = 1 if team.startswith("grid") else 0
        twice = team.startswith("grid") and 2 * held <= MULTIPROCESSORS * HELD_MOST
        return Space(
            (
                Parameter("team", teams, team),
                Parameter("threads", (64, 128, 256, 512, 1024), threads),
                Parameter("hold", HOLDS if held else ("reload",), hold if held else "reload"),
                Parameter("vector", tuple(sorted(widths)), widths[0]),
                Parameter("unroll", (1, 2, 4, 8), 4 if hold == "registers" else 2),
                Parameter("load", tuple(LOAD_HINTS), "cached"),
                Parameter("store", tuple(STORE_HINTS), "cached"),
                Parameter("waves", (0, 1, 2, 4), waves),
                Parameter("stages", (1, 2) if held else (1,), 2 if twice else 1),
                Parameter("statistics", ("two_pass", "online"), online),
            )
        )

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One kernel and its launch (after a memset of arrival counters where a grid is the team)."""
        return _Row(flatten(region), choice, entry).emitted()


class _Row:
    """The text of one row kernel."""

    def __init__(self, region: Region, choice: Choice, entry: str) -> None:
        self.region, self.entry = region, entry
        self.kept_dims, self.reduced_dims = along_rows(region)
        self.sizes = Sizes(region, lambda dim: dim in region.reduced or dim > 0)
        self.schedule = Schedule(region, online=choice.text("statistics") == "online")
        self.pointers = Pointers(region, choice.text("load"), choice.text("store"))
        self.kept = Kept(self.schedule, self.sizes, self.pointers)
        self.team = Team.of(choice.text("team"), choice.integer("threads"))
        self.waves = 1 if self.team.over == "grid" else choice.integer("waves")
        self.vector = choice.integer("vector")
        length = self.sizes.product(self.reduced_dims)
        assert length is not None
        self.vectors = length // self.vector
        self.share = -(-self.vectors // self.team.blocks)
        """Vectors of a row in one block."""
        steps = -(-self.share // self.team.lanes)
        self.unroll = min(choice.integer("unroll"), steps)
        self.steps = -(-steps // self.unroll) * self.unroll
        exact = self.vectors == self.share * self.team.blocks and self.share == self.steps * self.team.lanes
        self.walk = Walk(self.reduced_dims, self.vector)
        self.loop = self._loop(None if exact else "v < end")
        holdable = [at for at in reused(self.schedule) if self.loop.width(self._access(at)) == self.vector]
        bytes_each = self.steps * self.vector * element_bytes(self.schedule, holdable)
        stages = choice.integer("stages") if self.waves else 1
        kind, stages = settle(choice.text("hold"), bytes_each, self.team.threads, stages)
        self.hold = Hold(kind, tuple(holdable), self.steps, self.team.threads, stages, f"{entry}_shared")

    def _access(self, at: int) -> Access:
        node = self.region.nodes[at]
        assert isinstance(node, Load)
        return node.access

    def _loop(self, ok: str | None) -> Loop:
        index, lanes, width = self.sizes.index, self.team.lanes, self.vector
        start = "begin + " if self.team.blocks > 1 else ""
        return Loop(
            region=self.region, sizes=self.sizes, pointers=self.pointers, walk=self.walk,
            steps=self.steps, unroll=self.unroll,
            step=[f"const {index} v = {start}(i + u) * {lanes} + lane;", f"const {index} c = v * {width};"],
            ok=ok, all_ok=f"{start}(i + {self.unroll - 1}) * {lanes} + lane < end",
            decompose=self.sizes.decompose(self.reduced_dims, "c", "i"), flat="c",
            index=lambda dim: f"i{dim}", known=self.schedule.at_hand(),
        )  # fmt: skip

    # Launch ------------------------------------------------------------------------------------

    @property
    def rows(self) -> Expr:
        """Number of rows."""
        return self.sizes.count(self.kept_dims)

    def _teams(self) -> Expr:
        """Number of teams in the grid."""
        whole = f"ceildiv({self.rows}, {self.team.rows})"
        most = max(1, self.waves * MULTIPROCESSORS // self.team.blocks)
        return f"min({whole}, {most})" if self.waves else whole

    def emitted(self) -> Emitted:
        """Source, launch and scratch."""
        source = self._source()
        scratch = self._scratch()
        sizes = self.sizes.arguments
        launch = Launch(
            entry=self.entry,
            grid=(f"{self._teams()} * {self.team.blocks}", 1, 1),
            block=(self.team.threads, 1, 1),
            args=(
                *self.pointers.arguments,
                *(BufferArg(buffer=buffer.name) for buffer in scratch),
                *(value for _, value in sizes),
            ),
            shared_bytes=self.hold.shared_bytes(self.loop),
            cluster=(self.team.blocks if self.team.over == "cluster" else 1, 1, 1),
            cooperative=self.team.over == "grid",
        )
        steps: tuple[Step, ...] = (launch,)
        if scratch:
            steps = (Memset(buffer=scratch[-1].name), launch)
        return Emitted(source, steps, scratch, " and ".join(self.sizes.domain), REDUCE_HEADER)

    def _scratch(self) -> tuple[Buffer, ...]:
        """Slots of each pass, then arrival counters; only where a grid is the team."""
        if self.team.over != "grid":
            return ()
        teams = self._teams()
        slots = [
            Buffer(
                name=f"{self.entry}_slots{number}", role="scratch", dtype="int32",
                shape=(f"{teams} * {2 * self.team.blocks * struct_bytes(folds) // 4}",),
            )
            for number, folds in enumerate(self.schedule.passes, 1)
        ]  # fmt: skip
        arrived = Buffer(name=f"{self.entry}_arrived", role="scratch", dtype="int32", shape=(teams,))
        return (*slots, arrived)

    # Source ------------------------------------------------------------------------------------

    def _source(self) -> str:
        structs = [
            struct_text(self.entry, number, folds) for number, folds in enumerate(self.schedule.passes, 1)
        ]
        body = self._kernel()
        parameters = list(self.pointers.parameters)
        if self.team.over == "grid":
            parameters += [f"{self._struct(number)}* slots{number}" for number in self._numbers]
            parameters.append("unsigned* arrived")
        parameters += [f"const long long {name}" for name, _ in self.sizes.arguments]
        bounds = f"__launch_bounds__({self.team.threads})"
        head = f'extern "C" __global__ void {bounds} {self.entry}({", ".join(parameters)}) {{'
        return "".join(structs) + indented([head, *body, "}"])

    @property
    def _numbers(self) -> range:
        return range(1, len(self.schedule.passes) + 1)

    def _struct(self, number: int) -> str:
        return f"{self.entry}_pass{number}"

    def _kernel(self) -> list[str]:
        row = self._row()
        loop = self._over_rows(row)
        return [*self._preamble(loop), *self._slots(), *self.hold.declarations(self.loop), *loop]

    def _preamble(self, body: list[str]) -> list[str]:
        index, team = self.sizes.index, self.team
        lines = [f"const {index} lane = threadIdx.x % {team.lanes};"]
        if team.blocks > 1:
            lines += [
                f"const {index} rank = blockIdx.x % {team.blocks};",
                f"const {index} begin = rank * {self.share};",
                f"const {index} end = {clamped(self.share, self.vectors)};",
            ]
        else:
            lines.append(f"const {index} end = {self.vectors};")
        # A block may write into another's shared memory only once that one has started.
        started = ["kw_cluster_barrier();"] if team.over == "cluster" else []
        return [*used(lines, body), *started]

    def _slots(self) -> list[str]:
        """Shared slots of merges: two sets where rows follow each other, so that one may still be read."""
        turns = 2 if self.waves else 1
        lines = []
        for number in self._numbers:
            if self.team.lanes > 32:
                lines.append(
                    f"__shared__ {self._struct(number)} warps{number}[{turns}][{self.team.threads // 32}];"
                )
            if self.team.over == "cluster":
                lines.append(
                    f"__shared__ {self._struct(number)} blocks{number}[{turns}][{self.team.blocks}];"
                )
        return lines

    def _over_rows(self, row: list[str]) -> list[str]:
        index, team = self.sizes.index, self.team
        rows = self.sizes.text(self.rows)
        first = (
            f"({index})(blockIdx.x / {team.blocks}) * {team.rows}"
            if team.blocks > 1
            else f"({index})blockIdx.x * {team.rows}"
        )
        if not self.waves:
            return [
                f"const {index} first = {first};",
                *self._enter("first"),
                *self.hold.fill(self.loop, "0"),
                *self._wait(),
                *row,
            ]
        stride = f"({index})(gridDim.x / {team.blocks}) * {team.rows}"
        lines = [f"const {index} stride = {stride};", "int turn = 0;"]
        if team.over == "grid":
            lines.append("unsigned target = 0;")
        if self.hold.stages == 2:
            lines += ["{", *self._enter(first), *self.hold.fill(self.loop, "0"), "}"]
        lines += [f"for ({index} first = {first}; first < {rows}; first += stride, turn ^= 1) {{"]
        if self.hold.stages == 2:
            ahead = self._enter("first + stride")
            fill = self.hold.fill(self.loop, "(turn ^ 1)")
            lines += [
                f"if (first + stride < {rows}) {{",
                *ahead,
                *fill,
                "} else {",
                "kw_copy_commit();",
                "}",
                "kw_copy_wait<1>();",
            ]
            lines += self._enter("first")
        else:
            lines += [*self._enter("first"), *self.hold.fill(self.loop, "0"), *self._wait()]
        return [*lines, *row, "}"]

    def _wait(self) -> list[str]:
        return ["kw_copy_wait<0>();"] if self.hold.kind == "shared" and self.hold.nodes else []

    def _enter(self, first: str) -> list[str]:
        """The row of this thread and its kept indexes; past the end, the last row once more."""
        index, rows = self.sizes.index, self.sizes.text(self.rows)
        if self.team.rows == 1:
            return [f"const {index} row = {first};", *self.sizes.decompose(self.kept_dims, "row", "i")]
        return [
            f"const {index} wanted = {first} + threadIdx.x / {self.team.lanes};",
            f"const bool live = wanted < {rows};",
            f"const {index} row = live ? wanted : {rows} - 1;",
            *self.sizes.decompose(self.kept_dims, "row", "i"),
        ]

    def _row(self) -> list[str]:
        """All passes over one row."""
        loop = self.loop
        loop.held = self.hold.text("turn" if self.hold.stages == 2 else "0")
        loop.full_unroll = self.hold.kind == "registers" and bool(self.hold.nodes)
        lines = self.kept.shared(0)
        for number in self._numbers:
            lines += self._pass(number)
        live = "live" if self.team.rows > 1 else None
        loop.reads_again = False
        loop.backward = len(self.schedule.passes) % 2 == 1
        if self.schedule.full_stores:
            lines += loop.store(self.schedule.full_stores, live)
        condition = ["lane == 0", *(["rank == 0"] if self.team.blocks > 1 else []), *([live] if live else [])]
        return [*lines, *self.kept.stores(" && ".join(condition))]

    def _pass(self, number: int) -> list[str]:
        part = f"part{number}"
        self.loop.backward = number % 2 == 0
        self.loop.reads_again = number < len(self._numbers) or bool(self.schedule.full_stores)
        lines = [f"{self._struct(number)} {part};", f"{part}.clear();"]
        lines += self.loop.fold(self.schedule.passes[number - 1], part)
        lines += self._merge(number, part)
        return [*lines, *result_lines(self.schedule, number, part), *self.kept.shared(number)]

    def _merge(self, number: int, part: str) -> list[str]:
        team, turn = self.team, "turn" if self.waves else "0"
        if team.lanes <= 32:
            return [f"{part} = kw_merge_lanes<{team.lanes}>({part});"]
        lines = [f"{part} = kw_merge_block<{team.threads}>({part}, warps{number}[{turn}]);"]
        if team.over == "cluster":
            lines.append(f"{part} = kw_merge_cluster<{team.blocks}>({part}, blocks{number}[{turn}]);")
        if team.over == "grid":
            slots = f"slots{number} + ((blockIdx.x / {team.blocks}) * 2 + turn) * {team.blocks}"
            arrived = f"arrived + blockIdx.x / {team.blocks}"
            lines += [
                f"target += {team.blocks};",
                f"{part} = kw_merge_grid({part}, {slots}, rank, {team.blocks}, {arrived}, target);",
            ]
        return lines
