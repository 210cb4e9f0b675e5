"""C++ for regions without reductions: one sweep along the innermost loop, in tiles over all threads.

The lever on tensors larger than the caches is the store: `stream` writes around them, so that a line
is not read before it is overwritten. Small tensors stay on one thread and in the caches.
"""

from __future__ import annotations

from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cpp.body import Body
from kernelwright.propose.templates.cpp.sizes import text_of
from kernelwright.propose.templates.cpp.sweep import FEW, stores_parameter, sweep
from kernelwright.propose.templates.cpp.text import HEADER


class CppPointwise:
    """Every element by itself."""

    name = "cpp_pointwise"
    target: TargetName = "cpu"

    def unavailable(self, region: Region) -> str | None:
        """Reductions are for the other templates."""
        return "the region reduces" if region.reduced else None

    def space(self, region: Region) -> Space:
        """How results are stored, how many lanes at once, how large a tile, how far to read ahead."""
        return Space((
            stores_parameter(region),
            Parameter("unroll", (1, 2, 4, 8), 2),
            Parameter("tile", (2048, 8192, 32768, 131072), 32768),
            Parameter("ahead", (0, 512, 1024, 2048), 0),
        ))  # fmt: skip

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One entry."""
        inner = len(region.dims) - 1 if region.dims else None
        body = Body(region, entry, inner)
        body.text.open(body.signature())
        if inner is None:
            body.single(body.closure(item.value for item in region.stores))
            for item in region.stores:
                body.write_single(item)
        else:
            self._tiles(body, choice, inner)
        body.text.close()
        return Emitted(str(body.text), (body.call(),), header=HEADER)

    def _tiles(self, body: Body, choice: Choice, inner: int) -> None:
        text, outer = body.text, list(range(inner))
        size, tile = body.size(inner), choice.integer("tile")
        tiles = body.tiles(inner, tile)
        if body.extent(range(inner + 1)) >= FEW:
            text.line("#pragma omp parallel")
        text.open("{")
        text.line(f"const kw::Share part = kw::share({body.count(outer, tiles)});")
        text.open("for (int64_t item = part.begin; item < part.end; ++item) {")
        text.line(f"const int64_t lo = item % {text_of(tiles)} * {tile};")
        text.line(f"const int64_t hi = lo + {tile} < {size} ? lo + {tile} : {size};")
        body.decode(outer, f"item / {text_of(tiles)}")
        sweep(body, choice, list(enumerate(body.region.stores)), prefetch=choice.integer("ahead"))
        text.close()
        if choice.text("stores") == "streamed":
            text.line("_mm_sfence();")
        text.close()
