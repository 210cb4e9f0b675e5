"""The text of a row kernel: a team folds each pass over a row, merges, goes on, and takes its next row.

With `waves` the grid is as large as the device and teams stride over the rows. Then a row held in
shared memory lies in a ring (`hold`): behind each group of stores the elements that will take its
place are asked for, so loads of the next row run during the merges and stores of this one.
"""

from __future__ import annotations

from kernelwright.core.expr import Expr
from kernelwright.core.plan import Buffer, BufferArg, Launch, Memset, Step
from kernelwright.graph.loops import Region
from kernelwright.propose.space import Choice
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda.emit import REDUCE_HEADER
from kernelwright.propose.templates.cuda.folds import Schedule
from kernelwright.propose.templates.cuda.hold import Hold, holdable
from kernelwright.propose.templates.cuda.kept import Kept, divisors
from kernelwright.propose.templates.cuda.loops import Loop
from kernelwright.propose.templates.cuda.pointers import Pointers
from kernelwright.propose.templates.cuda.rows import (
    all_inside,
    along_rows,
    chosen_walk,
    count_vectors,
    row_length,
    shift_lines,
    sizes_of_rows,
    step_lines,
)
from kernelwright.propose.templates.cuda.team import MULTIPROCESSORS, Team
from kernelwright.propose.templates.cuda.text import (
    clamped,
    indented,
    result_lines,
    struct_bytes,
    struct_text,
    used,
    whole_warps,
)


class RowText:
    """The text of one row kernel."""

    def __init__(self, region: Region, choice: Choice, entry: str) -> None:
        self.region, self.entry = region, entry
        self.kept_dims, self.reduced_dims = along_rows(region)
        self.sizes = sizes_of_rows(region)
        self.schedule = Schedule(region, online=choice.text("statistics") == "online")
        self.pointers = Pointers(region, choice.text("load"), choice.text("store"))
        self.kept = Kept(self.schedule, self.sizes, self.pointers)
        self.team = Team.of(choice.text("team"), choice.integer("threads"))
        self.waves = self.team.waves(choice.integer("waves"))
        self.walk = chosen_walk(self.sizes, self.reduced_dims, choice.integer("vector"))
        self.loop = self._loop(choice.integer("unroll"))
        self.hold = Hold.fitting(
            choice.text("hold"), self.loop, holdable(self.schedule, self.loop), self.team.threads,
            f"{entry}_shared", choice.integer("stages") if self.waves else 1, places=max(1, self.waves),
        )  # fmt: skip

    def _loop(self, unroll: int) -> Loop:
        team, lanes = self.team, self.team.lanes
        self.vectors = count_vectors(self.sizes, self.walk)
        self.share = self.vectors if team.blocks == 1 else whole_warps(-(-self.vectors // team.blocks))
        """Vectors of a row in one block."""
        steps = -(-self.share // lanes)
        unroll = min(unroll, steps)
        steps = -(-steps // unroll) * unroll
        exact = self.vectors == self.share * team.blocks and self.share == steps * lanes
        place = f"{'begin + ' if team.blocks > 1 else ''}(i + {{}}) * {lanes} + lane"
        return Loop(
            region=self.region, sizes=self.sizes, pointers=self.pointers, walk=self.walk,
            steps=steps, unroll=unroll, step=step_lines(self.sizes, self.walk, place.format("u")),
            ok=None if exact else "v < end",
            all_ok=all_inside(self.sizes, self.walk, place.format(0), place.format(unroll - 1)),
            decompose=self.sizes.decompose(self.reduced_dims, "c", "i"), flat="c",
            index=lambda dim: f"i{dim}", known=self.schedule.at_hand(),
            divisors=divisors(self.schedule),
            length=row_length(self.sizes, self.walk),
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
        """Two sets of messages for each team; only where a grid is the team."""
        if self.team.over != "grid":
            return ()
        words = f"{self._teams()} * {4 * self._words(len(self.schedule.passes)) * self.team.blocks}"
        return (Buffer(name=f"{self.entry}_messages", role="scratch", dtype="int32", shape=(words,)),)

    def _words(self, passes: int) -> int:
        """Words of the states of the first `passes` passes."""
        return sum(struct_bytes(folds) // 4 for folds in self.schedule.passes[:passes])

    # Source ------------------------------------------------------------------------------------

    def _source(self) -> str:
        structs = [
            struct_text(self.entry, number, folds) for number, folds in enumerate(self.schedule.passes, 1)
        ]
        body = self._kernel()
        parameters = list(self.pointers.parameters)
        if self.team.over == "grid":
            parameters.append("unsigned long long* messages")
        parameters += [f"const long long {name}" for name, _ in self.sizes.arguments]
        together = f", {self.waves}" if self.team.over == "grid" and self.waves > 1 else ""
        bounds = f"__launch_bounds__({self.team.threads}{together})"
        head = f'extern "C" __global__ void {bounds} {self.entry}({", ".join(parameters)}) {{'
        return "".join(structs) + indented([head, *body, "}"])

    @property
    def _numbers(self) -> range:
        return range(1, len(self.schedule.passes) + 1)

    def _struct(self, number: int) -> str:
        return f"{self.entry}_pass{number}"

    def _kernel(self) -> list[str]:
        loop = self._over_rows()
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
            struct = self._struct(number)
            if self.team.lanes > 32:
                lines.append(f"__shared__ {struct} warps{number}[{turns}][{self.team.threads // 32}];")
            if self.team.over == "cluster":
                lines.append(f"__shared__ {struct} blocks{number}[{turns}][{self.team.blocks}];")
            if self.team.over == "grid":
                lines.append(f"__shared__ {struct} team{number}[1];")
        return lines

    # Rows --------------------------------------------------------------------------------------

    @property
    def _ring(self) -> bool:
        return bool(self.waves) and self.hold.kind == "shared"

    def _over_rows(self) -> list[str]:
        """The loop over the rows of this thread's team, or its one row."""
        index, team, row = self.sizes.index, self.team, self._row()
        number = f"blockIdx.x / {team.blocks}" if team.blocks > 1 else "blockIdx.x"
        first = f"({index})({number}) * {team.rows}"
        alone = [*self._enter("first"), *([] if self._ring else self.hold.fill(self.loop)), *row]
        if not self.waves:
            return [f"const {index} first = {first};", *alone]
        teams = f"gridDim.x / {team.blocks}" if team.blocks > 1 else "gridDim.x"
        head = [f"const {index} stride = ({index})({teams}) * {team.rows};"]
        start, step = [], ["turn ^= 1"]
        if self.team.over == "grid":
            start.append("unsigned number = 1;")
            step.append("++number")
        if self._ring and self.hold.wraps:
            start.append("int base = 0;")
            step.append(f"base = (base + {self.hold.steps}) % {self.hold.slots}")
        steps = ", ".join(["first += stride", *step])
        loop = f"for ({index} first = {first}; first < {self._row_count}; {steps}) {{"
        begin = ["{", f"const {index} first = {first};", *self._begin(), "}"] if self._ring else []
        return [*head, *begin, "int turn = 0;", *start, loop, *alone, "}"]

    @property
    def _row_count(self) -> str:
        return self.sizes.text(self.rows)

    def _begin(self) -> list[str]:
        """Fill the ring."""
        ask = self._ask("q", "q")
        return [f"for (int q = 0; q < {self.hold.slots}; q += {self.hold.unroll}) {{", *ask, "}"]

    def _ask(self, far: str, slot: str) -> list[str]:
        """Begin the copies of the group that lies `far` steps behind the start of row `first`, if any."""
        index, steps = self.sizes.index, self.hold.steps
        ahead = f"first + ({index})(far / {steps}) * stride"
        copies = self.hold.copies(self.loop, "slot")
        return [
            "{",
            f"const int far = {far}, slot = {slot};",
            f"const {index} ahead = {ahead};",
            f"if (ahead < {self._row_count}) {{",
            f"const int i = far % {steps};",
            *self._enter("ahead", copies),
            *copies,
            "}",
            "kw_copy_commit();",
            "}",
        ]

    def _enter(self, first: str, body: list[str] | None = None) -> list[str]:
        """The row of this thread and its kept indexes; past the end, the last row once more."""
        index, rows = self.sizes.index, self._row_count
        places = [*self.sizes.decompose(self.kept_dims, "row", "i"), *shift_lines(self.sizes, self.walk)]
        if self.team.rows == 1:
            places = [f"const {index} row = {first};", *places]
        else:
            places = [
                f"const {index} wanted = {first} + threadIdx.x / {self.team.lanes};",
                f"const bool live = wanted < {rows};",
                f"const {index} row = live ? wanted : {rows} - 1;",
                *places,
            ]
        return places if body is None else used(places, body)

    def _row(self) -> list[str]:
        """All passes over one row."""
        loop, hold = self.loop, self.hold
        loop.held, loop.prelude = hold.text(), hold.prelude
        loop.full_unroll = hold.kind == "registers"
        lines = [*self.kept.shared(0), *self.kept.divisors(0)]
        for number in self._numbers:
            lines += self._pass(number)
        live = "live" if self.team.rows > 1 else None
        behind = self._ask(f"i + {hold.slots}", hold.slot) if self._ring else []
        self._turn_around(len(self.schedule.passes) + 1)
        if self.schedule.full_stores:
            lines += loop.store(self.schedule.full_stores, live, behind)
        elif behind:
            lines += loop.over_steps(behind)
        condition = ["lane == 0", *(["rank == 0"] if self.team.blocks > 1 else []), *([live] if live else [])]
        return [*lines, *self.kept.stores(" && ".join(condition))]

    def _turn_around(self, number: int) -> None:
        """Every other pass runs backward where it reads memory again; a ring is emptied in order."""
        last = number > len(self.schedule.passes)
        self.loop.backward = number % 2 == 0 and self.hold.kind != "shared"
        self.loop.reads_again = not last and (number < len(self._numbers) or bool(self.schedule.full_stores))

    def _pass(self, number: int) -> list[str]:
        part = f"part{number}"
        self._turn_around(number)
        lines = [f"{self._struct(number)} {part};", f"{part}.clear();"]
        wait = self.hold.wait if number == 1 else []
        lines += self.loop.fold(self.schedule.passes[number - 1], part, wait)
        lines += self._merge(number, part)
        lines += result_lines(self.schedule, number, part)
        return [*lines, *self.kept.shared(number), *self.kept.divisors(number)]

    def _merge(self, number: int, part: str) -> list[str]:
        team, turn = self.team, "turn" if self.waves else "0"
        if team.lanes <= 32:
            return [f"{part} = kw_merge_lanes<{team.lanes}>({part});"]
        lines = [f"{part} = kw_merge_block<{team.threads}>({part}, warps{number}[{turn}]);"]
        if team.over == "cluster":
            lines.append(f"{part} = kw_merge_cluster<{team.blocks}>({part}, blocks{number}[{turn}]);")
        if team.over == "grid":
            every, before = self._words(len(self.schedule.passes)), self._words(number - 1)
            set_at = f"((blockIdx.x / {team.blocks}) * 2 + turn) * {every} + {before}"
            slots = f"messages + ({set_at}) * {team.blocks}"
            merge = f"kw_merge_grid<{team.blocks}>({part}, {slots}, rank, number, team{number})"
            lines.append(f"{part} = {merge};")
        return lines
