"""Chains of scalar operations over one flat index, with broadcasting: no reduction.

Each thread takes `unroll` vectors whose loads are all in flight before the first is used. With
`waves` 0 the grid covers the region once; else that many blocks per multiprocessor stride over it.
Sizes are literals except the outermost. Not here: transposes that need a tile to be coalesced.
"""

from __future__ import annotations

from kernelwright.core.plan import Launch
from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda.emit import HEADER
from kernelwright.propose.templates.cuda.loops import Loop
from kernelwright.propose.templates.cuda.nest import Sizes, Walk, flatten, moved_by, vectors
from kernelwright.propose.templates.cuda.pointers import LOAD_HINTS, STORE_HINTS, Pointers, aliasing
from kernelwright.propose.templates.cuda.rows import (
    chosen_walk,
    count_vectors,
    row_length,
    row_vectors,
    shift_lines,
    step_lines,
)
from kernelwright.propose.templates.cuda.team import MULTIPROCESSORS
from kernelwright.propose.templates.cuda.text import indented, used


class CudaPointwise:
    """Template for regions without reductions."""

    name = "cuda_pointwise"
    target: TargetName = "cuda"

    def unavailable(self, region: Region) -> str | None:
        """Why this template cannot serve `region`, or None if it can."""
        return "the region reduces" if region.reduced else aliasing(region)

    def space(self, region: Region) -> Space:
        """Vector width, loads in flight, block size, cache hints, and how the grid covers the region."""
        widths = self._vectors(flatten(region))
        return Space(
            (
                # Two accesses of half the width keep the device as busy as one of 16 bytes, or busier.
                Parameter("vector", tuple(sorted(widths)), max(1, widths[0] // 2)),
                Parameter("unroll", (1, 2, 4, 8), 2),
                Parameter("threads", (128, 256, 512, 1024), 256),
                Parameter("load", tuple(LOAD_HINTS), "cached"),
                Parameter("store", tuple(STORE_HINTS), "once"),
                Parameter("waves", (0, 4, 8, 16), 0),
            )
        )

    def _vectors(self, region: Region) -> list[int]:
        sizes = Sizes(region, lambda dim: dim > 0)
        everything = tuple(range(len(region.dims)))
        if sizes.product(everything) is None:
            return vectors(sizes, everything, moved_by(region))
        return row_vectors(region, everything)

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One kernel and its launch."""
        region = flatten(region)
        sizes = Sizes(region, lambda dim: dim > 0)
        pointers = Pointers(region, choice.text("load"), choice.text("store"))
        vector, unroll, threads = (choice.integer(name) for name in ("vector", "unroll", "threads"))
        dims = tuple(range(len(region.dims)))
        total, waves = sizes.count(dims), choice.integer("waves")
        if sizes.product(dims) is None:
            sizes.require_multiple(dims, vector)
            walk, steps = Walk(dims, vector), f"({sizes.text(total)} / {vector})"
            grid = f"ceildiv({total}, {vector * unroll * threads})"
        else:
            walk = chosen_walk(sizes, dims, vector)
            steps = str(count_vectors(sizes, walk))
            grid = f"ceildiv({steps}, {unroll * threads})"
        lines = self._kernel(region, sizes, pointers, walk, steps, unroll, threads, waves)
        if waves:
            grid = f"min({grid}, {waves * MULTIPROCESSORS})"
        arguments = sizes.arguments
        parameters = [*pointers.parameters, *(f"const long long {name}" for name, _ in arguments)]
        head = f'extern "C" __global__ void __launch_bounds__({threads}) {entry}({", ".join(parameters)}) {{'
        launch = Launch(
            entry=entry,
            grid=(grid, 1, 1),
            block=(threads, 1, 1),
            args=(*pointers.arguments, *(value for _, value in arguments)),
        )
        return Emitted(
            source=indented([head, *lines, "}"]),
            steps=(launch,),
            domain=" and ".join(sizes.domain),
            header=HEADER,
        )

    def _kernel(
        self,
        region: Region,
        sizes: Sizes,
        pointers: Pointers,
        walk: Walk,
        steps: str,
        unroll: int,
        threads: int,
        waves: int,
    ) -> list[str]:
        index = sizes.index
        loop = Loop(
            region=region, sizes=sizes, pointers=pointers, walk=walk, steps=unroll, unroll=unroll,
            step=step_lines(sizes, walk, f"first + u * {threads}"),
            ok=f"v < {steps}", all_ok="", decompose=sizes.decompose(walk.dims, "c", "i"), flat="c",
            index=lambda dim: f"i{dim}", length=row_length(sizes, walk),
        )  # fmt: skip
        start = f"({index})blockIdx.x * {threads * unroll} + threadIdx.x"
        body = loop.store(list(range(len(region.stores))), None)
        body = [*used(shift_lines(sizes, walk), body), *body]
        if waves:
            stride = f"({index})gridDim.x * {threads * unroll}"
            return [f"for ({index} first = {start}; first < {steps}; first += {stride}) {{", *body, "}"]
        return [*used([f"const {index} first = {start};"], body), *body]
