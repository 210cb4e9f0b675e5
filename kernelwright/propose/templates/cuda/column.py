"""Reductions across contiguous memory: a thread keeps V neighbouring results and walks down.

A block is `across` vectors wide; `down` groups of its threads share a column's elements and merge
through shared memory. With one part, all passes run in one launch and may hold the column (RMS norm
over channels is read once). With more parts every pass is a launch, as in `cuda_channel`, so that few
long columns fill the device.

Where the number of results is known only at run time, the last vector may stick out of them.
"""

from __future__ import annotations

import math

from kernelwright.core.expr import Expr
from kernelwright.core.plan import Buffer, BufferArg, Launch
from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Load, Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda.emit import REDUCE_HEADER, ctype_of
from kernelwright.propose.templates.cuda.folds import Schedule, is_plain
from kernelwright.propose.templates.cuda.hold import HOLDS, Hold, element_bytes, holdable, reused
from kernelwright.propose.templates.cuda.kept import racing
from kernelwright.propose.templates.cuda.loops import Loop
from kernelwright.propose.templates.cuda.nest import Sizes, Walk, flatten, moved_by, vectors
from kernelwright.propose.templates.cuda.pointers import LOAD_HINTS, STORE_HINTS, Pointers, aliasing
from kernelwright.propose.templates.cuda.regroup import group_of, halved
from kernelwright.propose.templates.cuda.rows import along_rows, contiguous
from kernelwright.propose.templates.cuda.team import MULTIPROCESSORS
from kernelwright.propose.templates.cuda.text import clamped, indented, struct_bytes, struct_text, used

_ENOUGH = MULTIPROCESSORS * 2048
"""Threads that fill the device."""
_HELD_GOAL = 256
"""Bytes of a column that a thread should hold at most."""


class CudaColumn:
    """Template for reductions whose kept innermost dimension is contiguous."""

    name = "cuda_column"
    target: TargetName = "cuda"

    def unavailable(self, region: Region) -> str | None:
        """Why this template cannot serve `region`, or None if it can."""
        if not region.reduced:
            return "the region does not reduce"
        region = flatten(region)
        kept, reduced = along_rows(region)
        if not contiguous(region, kept):
            return "no kept dimension is contiguous"
        if contiguous(region, reduced):
            return "a reduced dimension is contiguous"
        return aliasing(region) or racing(Schedule(region, online=False))

    def space(self, region: Region) -> Space:
        """Threads down and parts of a column, block size, hold, vector width, loads in flight, hints, and
        how many rows are first taken as one (`regroup`)."""
        region = flatten(region)
        group = group_of(region)
        if group > 1:
            region = flatten(halved(region, group, region.name).first)
        kept, reduced = along_rows(region)
        columns, length = (math.prod(region.dims[dim].extent for dim in dims) for dims in (kept, reduced))
        schedule = Schedule(region, online=False)
        each = element_bytes(schedule, reused(schedule))
        widths = _widths(region, kept)
        missing = max(1, _ENOUGH * widths[0] // (2 * columns))
        down = _power(min(max(missing, length * widths[0] * each // _HELD_GOAL), 8, length))
        parts = _power(min(max(1, missing // down), 64, max(1, length // (8 * down))))
        saves = len(Schedule(region, online=True).passes) < len(schedule.passes)
        return Space(
            (
                Parameter("parts", tuple(sorted({1, 2, 4, 8, 16, 32, 64, parts})), parts),
                Parameter("down", (1, 2, 4, 8, 16), down),
                Parameter("threads", (64, 128, 256, 512), 256),
                Parameter("hold", HOLDS if each else ("reload",), "shared" if each else "reload"),
                Parameter("vector", tuple(sorted(widths)), widths[0]),
                Parameter("unroll", (1, 2, 4, 8, 16), 4 if widths[0] > 1 else 8),
                Parameter("load", tuple(LOAD_HINTS), "cached" if each else "once"),
                Parameter("store", tuple(STORE_HINTS), "cached" if each else "once"),
                Parameter(
                    "statistics", ("two_pass", "online"), "online" if saves and parts > 1 else "two_pass"
                ),
                Parameter("regroup", tuple(sorted({1, group})), group),
            )
        )

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One kernel, or one for each pass and one for the stores where a column has parts."""
        region = flatten(region)
        group = choice.integer("regroup")
        if group == 1:
            return _Column(region, choice, entry).emitted()
        halves = halved(region, group, entry)
        rest = self.space(halves.second).default()
        first = _Column(flatten(halves.first), choice, f"{entry}_groups").emitted()
        second = _Column(flatten(halves.second), rest, entry).emitted()
        return Emitted(
            source=first.source + "\n" + second.source,
            steps=first.steps + second.steps,
            scratch=halves.between + first.scratch + second.scratch,
            domain=" and ".join(dict.fromkeys(part for part in (first.domain, second.domain) if part)),
            header=first.header | second.header,
        )


def _widths(region: Region, kept: tuple[int, ...]) -> list[int]:
    return vectors(_sizes(region, kept), kept, moved_by(region))


def _sizes(region: Region, kept: tuple[int, ...]) -> Sizes:
    """All sizes are literals, except an outermost kept one that no stride depends on."""
    return Sizes(region, lambda dim: dim > 0 or len(kept) < 2)


def _power(number: int) -> int:
    """The largest power of two that is not above `number`."""
    return 1 << (max(1, number).bit_length() - 1)


class _Column:
    """The text of all kernels of one region."""

    def __init__(self, region: Region, choice: Choice, entry: str) -> None:
        self.region, self.entry = region, entry
        self.kept_dims, self.reduced_dims = along_rows(region)
        self.sizes = _sizes(region, self.kept_dims)
        self.schedule = Schedule(region, online=choice.text("statistics") == "online")
        self.pointers = Pointers(region, choice.text("load"), choice.text("store"))
        self.numbers = range(1, len(self.schedule.passes) + 1)
        self.threads, self.vector = choice.integer("threads"), choice.integer("vector")
        if self.vector not in _widths(region, self.kept_dims):
            self.vector = 1
        self.limit = self._limit()
        """Number of results as text where the last vector may stick out of them, else empty."""
        length = self.sizes.product(self.reduced_dims)
        assert length is not None
        self.length = length
        self.parts = min(choice.integer("parts"), length)
        self.share = -(-length // self.parts)
        """Elements of a column in one block."""
        self.down = min(choice.integer("down"), self.threads // 8, _power(self.share))
        self.across = self.threads // self.down
        steps = -(-self.share // self.down)
        self.unroll = min(choice.integer("unroll"), steps)
        self.steps = -(-steps // self.unroll) * self.unroll
        self.loop = self._loop()
        self.hold = self._hold(choice.text("hold"))

    def _limit(self) -> str:
        inner = self.sizes.product(self.kept_dims[1:])
        whole = self.sizes.product(self.kept_dims) is not None or (
            inner is not None and inner % self.vector == 0
        )
        return "" if whole else self.sizes.text(self.columns)

    def _loop(self) -> Loop:
        index, vector = self.sizes.index, self.vector
        begin = "begin + " if self.parts > 1 else ""
        lane = " + ty" if self.down > 1 else ""
        place = f"{begin}(i + {{}}) * {self.down}{lane}"
        exact = self.length == self.share * self.parts and self.share == self.steps * self.down
        return Loop(
            region=self.region, sizes=self.sizes, pointers=self.pointers, walk=Walk(self.kept_dims, vector),
            steps=self.steps, unroll=self.unroll, step=[f"const {index} r = {place.format('u')};"],
            ok=None if exact else "r < end", all_ok=f"{place.format(self.unroll - 1)} < end",
            decompose=self.sizes.decompose(self.reduced_dims, "r", "i"), flat="k",
            index=lambda dim: f"i{dim}", lanewise=True, known=self.schedule.at_hand(), length=self.limit,
        )  # fmt: skip

    def _hold(self, wanted: str) -> Hold:
        return Hold.fitting(
            "reload" if self.parts > 1 else wanted, self.loop, holdable(self.schedule, self.loop),
            self.threads, f"{self.entry}_shared", reserved=self._tile_bytes() + 1024,
        )  # fmt: skip

    def _tile_bytes(self) -> int:
        """Shared memory in which the groups of a block merge."""
        widest = max(struct_bytes(folds) for folds in self.schedule.passes)
        return widest * self.threads * self.vector if self.down > 1 else 0

    def _condition(self) -> str:
        """Where a thread is the one that stores a result."""
        return "live && ty == 0" if self.down > 1 else "live"

    # Launches ----------------------------------------------------------------------------------

    @property
    def columns(self) -> Expr:
        """Number of results of one reduction."""
        return self.sizes.count(self.kept_dims)

    @property
    def tiles(self) -> str:
        """Blocks side by side."""
        return f"ceildiv({self.columns}, {self.vector * self.across})"

    def emitted(self) -> Emitted:
        """Sources and launches in order."""
        texts = [struct_text(self.entry, number, self.schedule.passes[number - 1]) for number in self.numbers]
        kernels = [*self.numbers, 0] if self.parts > 1 else [0]
        bodies = [indented(self._kernel(number)) for number in kernels]
        return Emitted(
            source="\n".join([*texts, *bodies]),
            steps=tuple(self._launch(number) for number in kernels),
            scratch=tuple(self._scratch(number) for number in self.numbers) if self.parts > 1 else (),
            domain=" and ".join(self.sizes.domain),
            header=REDUCE_HEADER,
        )

    def _name(self, number: int) -> str:
        return f"{self.entry}_fold{number}" if number else self.entry

    def _struct(self, number: int) -> str:
        return f"{self.entry}_pass{number}"

    def _scratch(self, number: int) -> Buffer:
        words = self.parts * struct_bytes(self.schedule.passes[number - 1]) // 4
        return Buffer(
            name=f"{self.entry}_parts{number}",
            role="scratch",
            dtype="int32",
            shape=(f"{self.columns} * {words}",),
        )

    def _blocks(self, number: int) -> int:
        """Blocks on top of each other: one where a kernel only merges and stores kept values."""
        return self.parts if number or self.schedule.full_stores else 1

    def _launch(self, number: int) -> Launch:
        sizes = [value for _, value in self.sizes.arguments]
        parts = (
            [BufferArg(buffer=f"{self.entry}_parts{each}") for each in self.numbers] if self.parts > 1 else []
        )
        return Launch(
            entry=self._name(number),
            grid=(f"{self.tiles} * {self._blocks(number)}", 1, 1),
            block=(self.threads, 1, 1),
            args=(*self.pointers.arguments, *parts, *sizes),
            shared_bytes=self.hold.shared_bytes(self.loop),
        )

    # Kernels -----------------------------------------------------------------------------------

    def _kernel(self, number: int) -> list[str]:
        """Kernel that folds pass `number`, or (0) does the rest and stores."""
        lines = self._shared_kept(0)
        if self.parts == 1:
            lines += [*self.hold.declarations(self.loop), *self.hold.fill(self.loop)]
            self.loop.held, self.loop.full_unroll = self.hold.text(), self.hold.kind == "registers"
            for each in self.numbers:
                lines += [*self._fold(each), *self._results(each)]
        else:
            for each in range(1, number or len(self.numbers) + 1):
                lines += [*self._merge_parts(each), *self._results(each)]
            if number:
                lines += [*self._fold(number), *self._write_part(number)]
        if not number:
            lines += self._stores()
        lines = [*used(self._places(number), lines), *self._tile(lines), *lines]
        return [self._head(number), *lines, "}"]

    def _head(self, number: int) -> str:
        """The signature; the text of the body, which decides which sizes are arguments, comes first."""
        parameters = [*self.pointers.parameters]
        if self.parts > 1:
            parameters += [f"{self._struct(each)}* parts{each}" for each in self.numbers]
        parameters += [f"const long long {name}" for name, _ in self.sizes.arguments]
        bounds = f"__launch_bounds__({self.threads})"
        return f'extern "C" __global__ void {bounds} {self._name(number)}({", ".join(parameters)}) {{'

    def _places(self, number: int) -> list[str]:
        """Where a thread is; past the last column it works on that one and stores nothing."""
        index, sizes = self.sizes.index, self.sizes
        columns = sizes.text(self.columns)
        touched = f"({columns} + {self.vector - 1})" if self.limit else columns
        whole = f"({touched} / {self.vector})"
        tiles = f"(gridDim.x / {self._blocks(number)})"
        end = clamped(self.share, self.length) if self.parts > 1 else str(self.length)
        return [
            f"const {index} tx = threadIdx.x % {self.across};",
            f"const {index} ty = threadIdx.x / {self.across};",
            f"const {index} rank = blockIdx.x / {tiles};",
            f"const {index} begin = rank * {self.share};",
            f"const {index} end = {end};",
            f"const {index} wanted = ({index})(blockIdx.x % {tiles}) * {self.across} + tx;",
            f"const bool live = wanted < {whole};",
            f"const {index} k = (live ? wanted : {whole} - 1) * {self.vector};",
            *sizes.decompose(self.kept_dims, "k", "i"),
        ]

    def _tile(self, lines: list[str]) -> list[str]:
        if not any("tile" in line for line in lines):
            return []
        return [f"__shared__ __align__(16) unsigned char tile[{self._tile_bytes()}];"]

    def _each(self, statement: str) -> str:
        return f"#pragma unroll\nfor (int e = 0; e < {self.vector}; ++e) {statement}"

    def _fold(self, number: int) -> list[str]:
        struct, part = self._struct(number), f"part{number}"
        self.loop.backward = number % 2 == 0 and self.hold.kind != "shared"
        self.loop.reads_again = number < len(self.numbers) or bool(self.schedule.full_stores)
        lines = [f"{struct} {part}[{self.vector}];", self._each(f"{part}[e].clear();")]
        wait = self.hold.wait if number == 1 else []
        lines += self.loop.fold(self.schedule.passes[number - 1], part, wait)
        if self.down == 1:
            return lines
        slot = f"slots{number}[({{}} * {self.vector} + e) * {self.across} + tx]"
        return [
            *lines,
            f"{struct}* const slots{number} = reinterpret_cast<{struct}*>(tile);",
            *(["__syncthreads();"] if number > 1 and self.parts == 1 else []),
            self._each(f"{slot.format('ty')} = {part}[e];"),
            "__syncthreads();",
            self._each("{"),
            f"{part}[e].clear();",
            f"for (int t = 0; t < {self.down}; ++t) {part}[e].merge({slot.format('t')});",
            "}",
        ]

    def _merge_parts(self, number: int) -> list[str]:
        struct, part = self._struct(number), f"part{number}"
        place = f"parts{number} + ((long long)s * {self.sizes.text(self.columns)} + k + e)"
        return [
            f"{struct} {part}[{self.vector}];",
            self._each(f"{part}[e].clear();"),
            f"for (int s = 0; s < {self.parts}; ++s) {{",
            self._each(f"{self._if_inside()}{part}[e].merge(kw_read_state({place}));"),
            "}",
        ]

    def _write_part(self, number: int) -> list[str]:
        place = f"(long long)rank * {self.sizes.text(self.columns)} + k + e"
        write = f"{self._if_inside()}parts{number}[{place}] = part{number}[e];"
        return [f"if ({self._condition()}) {{", self._each(write), "}"]

    def _if_inside(self) -> str:
        """The condition that result `e` of a vector is one, where it may not be."""
        return f"if ({self.loop.inside(1)}) " if self.limit else ""

    def _results(self, number: int) -> list[str]:
        lines = []
        for fold in self.schedule.passes[number - 1]:
            for at, member in fold.results:
                lines.append(f"{ctype_of(self.region, at)} n{at}[{self.vector}];")
                lines.append(self._each(f"n{at}[e] = part{number}[e].{fold.field}.{member};"))
        return [*lines, *self._shared_kept(number)]

    def _shared_kept(self, number: int) -> list[str]:
        """Arrays of kept values that full ones need, at hand after pass `number`."""
        nodes = [at for at in self.schedule.shared_kept(number) if not is_plain(self.region, at)]
        if not nodes:
            return []
        lines = [f"{ctype_of(self.region, at)} n{at}[{self.vector}];" for at in nodes]
        loads = [(at, node) for at in nodes if isinstance(node := self.region.nodes[at], Load)]
        wide = [(at, node) for at, node in loads if self.loop.width(node.access)]
        lines += ["{", "const int u = 0;"] if wide else ["{"]
        lines += [
            f"const {self.loop.vector_type(node)} x{at}[1] = {{{self.loop.load_text(node)}}};"
            for at, node in wide
        ]
        kept = self._kept_loop(None)
        values = [kept.statement(at, f"n{at}[e]") for at in nodes]
        if kept.split:
            values[:0] = used(self.sizes.decompose(self.kept_dims, "(k + e)", "j"), values)
        return [*lines, self._each("{"), *values, "}", "}"]

    def _kept_loop(self, ok: str | None) -> Loop:
        """A loop of one step over this thread's own results."""
        return Loop(
            region=self.region, sizes=self.sizes, pointers=self.pointers, walk=self.loop.walk,
            steps=1, unroll=1, step=[], ok=ok, all_ok="", decompose=[], flat="k",
            index=lambda dim: f"i{dim}", lanewise=True, known=self.schedule.at_hand(), length=self.limit,
        )  # fmt: skip

    def _stores(self) -> list[str]:
        lines: list[str] = []
        self.loop.backward = len(self.numbers) % 2 == 1
        self.loop.reads_again = False
        if self.schedule.full_stores:
            lines += self.loop.store(self.schedule.full_stores, "live")
        if self.schedule.kept_stores:
            lines += self._kept_loop(self._kept_condition()).store(self.schedule.kept_stores, None)
        return lines

    def _kept_condition(self) -> str:
        alone = self.parts == 1 or not self.schedule.full_stores
        return self._condition() if alone else f"{self._condition()} && rank == 0"
