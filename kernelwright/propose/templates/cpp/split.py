"""C++ for reductions with few rows: every row is shared by all threads.

The mean of a whole tensor, a norm over everything, a softmax of two long rows. In each pass a thread
folds its own part of the reduced elements; the parts meet in memory, and every thread puts them
together in the same order, so that the result is the same for the same number of threads.
"""

from __future__ import annotations

from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Reduce, Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cpp.body import Body
from kernelwright.propose.templates.cpp.sizes import text_of
from kernelwright.propose.templates.cpp.sweep import FEW, Numbered, stores_parameter, sweep
from kernelwright.propose.templates.cpp.text import FOLD_OPS, HEADER

_MANY_ROWS = 64


class CppSplit:
    """Reduced elements innermost, split over threads."""

    name = "cpp_split"
    target: TargetName = "cpu"

    def unavailable(self, region: Region) -> str | None:
        """The innermost loop must be reduced, with few rows of many elements."""
        if not region.reduced:
            return "the region does not reduce"
        if len(region.dims) - 1 not in region.reduced:
            return "the innermost loop is kept"
        body = Body(region, "probe", len(region.dims) - 1)
        rows, size = body.extent(set(range(len(region.dims))) - region.reduced), body.extent(region.reduced)
        if rows > _MANY_ROWS:
            return f"{rows} rows are enough to give each thread its own"
        return "a row is too short to share" if size < FEW else None

    def space(self, region: Region) -> Space:
        """How results are stored, lanes at once, and how large a part is."""
        return Space((
            stores_parameter(region),
            Parameter("unroll", (1, 2, 4, 8), 4),
            Parameter("division", ("reciprocal", "exact"), "reciprocal"),
            Parameter("tile", (4096, 16384, 65536), 16384),
        ))  # fmt: skip

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One entry."""
        reciprocal = choice.text("division") == "reciprocal"
        body = Body(region, entry, len(region.dims) - 1, reciprocal)
        _Split(body, choice).write()
        return Emitted(str(body.text), (body.call(),), header=HEADER)


class _Split:
    """The text of one entry."""

    def __init__(self, body: Body, choice: Choice) -> None:
        self.body, self.choice, self.text = body, choice, body.text
        dims = range(len(body.region.dims))
        self.kept = [dim for dim in dims if dim not in body.region.reduced]
        self.outer = [dim for dim in dims if dim in body.region.reduced and dim != body.inner]
        self.known: list[int] = []

    def write(self) -> None:
        body, text = self.body, self.text
        text.open(body.signature())
        for at, node in enumerate(body.region.nodes):
            if isinstance(node, Reduce):
                text.line(f"kw::Local<{self._part_type(at)}> parts{at}(omp_get_max_threads());")
        text.line("#pragma omp parallel")
        text.open("{")
        text.line("const int threads = omp_get_num_threads(), me = omp_get_thread_num();")
        text.open(f"for (int64_t item = 0; item < {body.count(self.kept)}; ++item) {{")
        body.decode(self.kept, "item")
        self._kept_nodes(0)
        for number in range(body.passes):
            self._pass(number)
            self._kept_nodes(number + 1)
        text.line("#pragma omp barrier")
        text.close()
        if self.choice.text("stores") == "streamed":
            text.line("_mm_sfence();")
        text.close()
        text.close()

    def _kept_nodes(self, phase: int) -> None:
        region, body = self.body.region, self.body
        now = [
            at
            for at in body.closure(range(len(region.nodes)))
            if region.phases[at] == phase and not region.full[at] and at not in self.known
        ]
        body.single(now)
        self.known += now
        stores = [s for s in region.stores if not region.full[s.value] and region.phases[s.value] == phase]
        if stores:
            self.text.open("if (me == 0) {")
            for item in stores:
                body.write_single(item)
            self.text.close()

    def _pass(self, number: int) -> None:
        body, text, tile = self.body, self.text, self.choice.integer("tile")
        assert body.inner is not None
        folds, written = body.pass_of(number)
        stores: Numbered = [(at, item) for at, item in enumerate(body.region.stores) if item in written]
        size, tiles = body.size(body.inner), body.tiles(body.inner, tile)
        for at in folds:
            text.line(f"{body.fold_type(at, self.choice.integer('unroll'))} r{at};")
        text.open("{")
        text.line(f"const kw::Share part = kw::share({body.count(self.outer, tiles)});")
        text.open("for (int64_t piece = part.begin; piece < part.end; ++piece) {")
        text.line(f"const int64_t lo = piece % {text_of(tiles)} * {tile};")
        text.line(f"const int64_t hi = lo + {tile} < {size} ? lo + {tile} : {size};")
        body.decode(self.outer, f"piece / {text_of(tiles)}")
        sweep(body, self.choice, stores, folds, self.known)
        text.close()
        text.close()
        self._together(folds)

    def _together(self, folds: list[int]) -> None:
        """Every thread's part of each reduction, in the order of threads."""
        text = self.text
        for at in folds:
            text.line(f"parts{at}.at[me] = r{at}.total();")
        if folds:
            text.line("#pragma omp barrier")
        for at in folds:
            node = self.body.region.nodes[at]
            assert isinstance(node, Reduce)
            text.line(f"{self._part_type(at)} w{at} = parts{at}.at[0];")
            one = f"w{at} = kw::{FOLD_OPS[node.op]}::of(w{at}, parts{at}.at[k]);"
            text.line(f"for (int k = 1; k < threads; ++k) {one}")
            text.line(f"const {self.body.single_type(at)} t{at} = w{at};")
        self.known += folds

    def _part_type(self, at: int) -> str:
        """Parts of float sums stay double until they are put together."""
        node, kind = self.body.region.nodes[at], self.body.single_type(at)
        return "double" if isinstance(node, Reduce) and node.op == "sum" and kind == "float" else kind
