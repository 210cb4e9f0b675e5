"""Reductions over few long rows: every pass is a launch, and many blocks share a row.

A block folds its part of a row and writes the partial state; the next launch's blocks each merge all
parts of their row, in fixed order, and go on. No block waits for another, so rows may be of any length
(batch norm's channels, a mean over everything). The price is that each pass reads the row again.
"""

from __future__ import annotations

import math

from kernelwright.core.expr import Expr
from kernelwright.core.plan import Buffer, BufferArg, Launch
from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda.emit import REDUCE_HEADER
from kernelwright.propose.templates.cuda.folds import Schedule
from kernelwright.propose.templates.cuda.kept import Kept, divisors, racing
from kernelwright.propose.templates.cuda.loops import Loop
from kernelwright.propose.templates.cuda.nest import flatten
from kernelwright.propose.templates.cuda.pointers import LOAD_HINTS, STORE_HINTS, Pointers, aliasing
from kernelwright.propose.templates.cuda.rows import (
    all_inside,
    along_rows,
    chosen_walk,
    contiguous,
    count_vectors,
    row_length,
    row_vectors,
    shift_lines,
    sizes_of_rows,
    step_lines,
)
from kernelwright.propose.templates.cuda.team import MULTIPROCESSORS
from kernelwright.propose.templates.cuda.text import (
    clamped,
    indented,
    result_lines,
    struct_bytes,
    struct_text,
    used,
    whole_warps,
)

SHORT = 4096
"""Rows below this many elements do not fill several blocks."""
_BLOCKS = 4096
"""Blocks to begin with: about eight for each place of 512 threads."""
_LONG = 2**15
"""Vectors that a block should have, so that reading what others have found is little beside them."""
MANY = 2**20
"""Rows below this many elements fit a cluster: where there are many, `cuda_row` serves them."""


def parts_for(rows: int, vectors: int) -> tuple[int, ...]:
    """Numbers of blocks per row, the first guess in the middle: powers of two, so that shares of common
    lengths come out even; many blocks, but long ones, unless the device would be left without work."""
    most = max(1, vectors // 512)
    wanted = max(min(_BLOCKS / rows, vectors / _LONG), 4 * MULTIPROCESSORS / rows, 1)
    goal = 1 << round(math.log2(wanted))
    return tuple(sorted({min(most, max(1, goal * factor // 4)) for factor in (1, 2, 4, 8, 16)}))


class CudaChannel:
    """Template for rows that many blocks share, one launch per pass."""

    name = "cuda_channel"
    target: TargetName = "cuda"

    def unavailable(self, region: Region) -> str | None:
        """Why this template cannot serve `region`, or None if it can."""
        if not region.reduced:
            return "the region does not reduce"
        region = flatten(region)
        kept, reduced = along_rows(region)
        if not contiguous(region, reduced) and contiguous(region, kept):
            return "the kept dimension is the contiguous one"
        rows, length = (math.prod(region.dims[dim].extent for dim in dims) for dims in (kept, reduced))
        if length < SHORT or (rows >= 4 * MULTIPROCESSORS and length < MANY):
            return "the rows are short, or many enough to fill the device"
        return aliasing(region) or racing(Schedule(region, online=False))

    def space(self, region: Region) -> Space:
        """Blocks per row, block size, vector width, loads in flight, cache hints, statistics."""
        region = flatten(region)
        kept, reduced = along_rows(region)
        rows, length = (math.prod(region.dims[dim].extent for dim in dims) for dims in (kept, reduced))
        widths = row_vectors(region, reduced)
        parts = parts_for(rows, length // widths[0])
        schedule = Schedule(region, online=False)
        full = schedule.full_stores
        saves = len(Schedule(region, online=True).passes) < len(schedule.passes)
        return Space(
            (
                Parameter("parts", parts, parts[len(parts) // 2]),
                Parameter("threads", (128, 256, 512, 1024), 512),
                Parameter("vector", tuple(sorted(widths)), widths[0]),
                Parameter("unroll", (1, 2, 4, 8), 8 if widths[0] == 1 or not full else 4),
                Parameter("load", tuple(LOAD_HINTS), "cached"),
                Parameter("store", tuple(STORE_HINTS), "once"),
                Parameter("statistics", ("two_pass", "online"), "online" if saves else "two_pass"),
            )
        )

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One kernel for each pass and one for the stores."""
        return _Channel(flatten(region), choice, entry).emitted()


class _Channel:
    """The text of all kernels of one region."""

    def __init__(self, region: Region, choice: Choice, entry: str) -> None:
        self.region, self.entry = region, entry
        self.kept_dims, self.reduced_dims = along_rows(region)
        self.sizes = sizes_of_rows(region)
        self.schedule = Schedule(region, online=choice.text("statistics") == "online")
        self.pointers = Pointers(region, choice.text("load"), choice.text("store"))
        self.kept = Kept(self.schedule, self.sizes, self.pointers)
        self.parts, self.threads = choice.integer("parts"), choice.integer("threads")
        self.numbers = range(1, len(self.schedule.passes) + 1)
        self.loop = self._loop(choice.integer("vector"), choice.integer("unroll"))

    def _loop(self, vector: int, unroll: int) -> Loop:
        walk = chosen_walk(self.sizes, self.reduced_dims, vector)
        self.vectors = count_vectors(self.sizes, walk)
        self.share = whole_warps(-(-self.vectors // self.parts))
        """Vectors of a row in one block."""
        steps = -(-self.share // self.threads)
        unroll = min(unroll, steps)
        steps = -(-steps // unroll) * unroll
        exact = self.vectors == self.share * self.parts and self.share == steps * self.threads
        place = f"begin + (i + {{}}) * {self.threads} + lane"
        return Loop(
            region=self.region, sizes=self.sizes, pointers=self.pointers,
            walk=walk, steps=steps, unroll=unroll, step=step_lines(self.sizes, walk, place.format("u")),
            ok=None if exact else "v < end",
            all_ok=all_inside(self.sizes, walk, place.format(0), place.format(unroll - 1)),
            decompose=self.sizes.decompose(self.reduced_dims, "c", "i"), flat="c",
            index=lambda dim: f"i{dim}", known=self.schedule.at_hand(),
            divisors=divisors(self.schedule), length=row_length(self.sizes, walk),
        )  # fmt: skip

    def emitted(self) -> Emitted:
        """Sources and launches in order."""
        texts = [struct_text(self.entry, number, self.schedule.passes[number - 1]) for number in self.numbers]
        kernels = [*self.numbers, 0]
        bodies = [indented(self._kernel(number)) for number in kernels]
        return Emitted(
            source="\n".join([*texts, *bodies]),
            steps=tuple(self._launch(number) for number in kernels),
            scratch=tuple(self._scratch(number) for number in self.numbers),
            domain=" and ".join(self.sizes.domain),
            header=REDUCE_HEADER,
        )

    @property
    def rows(self) -> Expr:
        """Number of rows."""
        return self.sizes.count(self.kept_dims)

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
            shape=(f"{self.rows} * {words}",),
        )

    def _blocks(self, number: int) -> int:
        """Blocks per row: one where a kernel only merges and stores kept values."""
        return self.parts if number or self.schedule.full_stores else 1

    def _launch(self, number: int) -> Launch:
        sizes = [value for _, value in self.sizes.arguments]
        parts = [BufferArg(buffer=f"{self.entry}_parts{each}") for each in self.numbers]
        return Launch(
            entry=self._name(number),
            grid=(f"{self.rows} * {self._blocks(number)}", 1, 1),
            block=(self.threads, 1, 1),
            args=(*self.pointers.arguments, *parts, *sizes),
        )

    def _kernel(self, number: int) -> list[str]:
        """Kernel that folds pass `number`, or (0) stores."""
        before = range(1, number or len(self.numbers) + 1)
        merge = f"kw_merge_parts<{self.threads}>"
        lines = [*self.kept.shared(0), *self.kept.divisors(0)]
        for each in before:
            part, row = f"part{each}", f"parts{each} + row * {self.parts}"
            lines += [
                f"__shared__ {self._struct(each)} warps{each}[{self.threads // 32}];",
                f"const {self._struct(each)} {part} = {merge}({row}, {self.parts}, warps{each});",
                *result_lines(self.schedule, each, part),
                *self.kept.shared(each),
                *self.kept.divisors(each),
            ]
        lines += self._fold(number) if number else self._stores()
        lines = [*used(self._places(number), lines), *lines]
        return [self._head(number), *lines, "}"]

    def _head(self, number: int) -> str:
        """The signature; the text of the body, which decides which sizes are arguments, comes first."""
        parameters = [*self.pointers.parameters]
        parameters += [f"{self._struct(each)}* parts{each}" for each in self.numbers]
        parameters += [f"const long long {name}" for name, _ in self.sizes.arguments]
        bounds = f"__launch_bounds__({self.threads})"
        return f'extern "C" __global__ void {bounds} {self._name(number)}({", ".join(parameters)}) {{'

    def _places(self, number: int) -> list[str]:
        """Where a block works. Every other kernel takes the blocks from the last to the first, and so begins
        with what the one before it left in the caches."""
        index, blocks = self.sizes.index, self._blocks(number)
        backward = (number or len(self.numbers) + 1) % 2 == 0
        block = "gridDim.x - 1 - blockIdx.x" if backward else "blockIdx.x"
        return [
            f"const {index} lane = threadIdx.x;",
            f"const {index} block = {block};",
            f"const {index} row = block / {blocks};",
            f"const {index} rank = block % {blocks};",
            *self.sizes.decompose(self.kept_dims, "row", "i"),
            *shift_lines(self.sizes, self.loop.walk),
            f"const {index} begin = rank * {self.share};",
            f"const {index} end = {clamped(self.share, self.vectors)};",
        ]

    def _fold(self, number: int) -> list[str]:
        part, struct = f"part{number}", self._struct(number)
        self.loop.backward = number % 2 == 0
        self.loop.reads_again = number < len(self.numbers) or bool(self.schedule.full_stores)
        return [
            f"{struct} {part};",
            f"{part}.clear();",
            *self.loop.fold(self.schedule.passes[number - 1], part),
            f"__shared__ {struct} warps{number}[{self.threads // 32}];",
            f"{part} = kw_merge_block<{self.threads}>({part}, warps{number});",
            f"if (threadIdx.x == 0) parts{number}[block] = {part};",
        ]

    def _stores(self) -> list[str]:
        self.loop.backward = len(self.numbers) % 2 == 1
        self.loop.reads_again = False
        full = self.loop.store(self.schedule.full_stores, None) if self.schedule.full_stores else []
        return [*full, *self.kept.stores("threadIdx.x == 0 && rank == 0")]
