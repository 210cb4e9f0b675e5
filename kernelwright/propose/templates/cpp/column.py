"""C++ for reductions whose innermost loop is kept: sums over a batch, norms over channels.

Lanes run along the kept elements, so nothing is ever added across lanes. A tile of kept elements has
its accumulators in the nearest cache while the reduced loops go by, several rows at a time; sums
are put away into a second level now and then, which bounds the rounding of long columns. Later
passes find the tile in the second-level cache if it is narrow enough.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Reduce, Region, operands
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cpp.body import Body
from kernelwright.propose.templates.cpp.sizes import text_of
from kernelwright.propose.templates.cpp.sweep import FEW, Numbered, stores_parameter, sweep
from kernelwright.propose.templates.cpp.text import FOLD_OPS, HEADER

_TILES = (64, 256, 512, 1024, 2048, 4096)
_CACHE_ELEMENTS = 1 << 16
"""Elements of a tile with all its reduced rows that stay in the second-level cache between passes."""


class CppColumn:
    """Kept elements innermost; tiles of them over threads."""

    name = "cpp_column"
    target: TargetName = "cpu"

    def unavailable(self, region: Region) -> str | None:
        """The innermost loop must be kept, and something reduced."""
        if not region.reduced:
            return "the region does not reduce"
        if len(region.dims) - 1 in region.reduced:
            return "the innermost loop is reduced"
        return None

    def space(self, region: Region) -> Space:
        """How results are stored, lanes at once, rows at once, how wide a tile."""
        return Space((
            stores_parameter(region),
            Parameter("unroll", (1, 2, 4), 2),
            Parameter("rows", (1, 2, 4, 8), 4),
            Parameter("tile", _TILES, _tile(region)),
        ))  # fmt: skip

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One entry."""
        body = Body(region, entry, len(region.dims) - 1)
        _Columns(body, choice).write()
        return Emitted(str(body.text), (body.call(),), header=HEADER)


def _tile(region: Region) -> int:
    """The widest tile that leaves work for two threads and, with several passes, stays in the cache."""
    reduced = 1
    outer = 1
    for at, dim in enumerate(region.dims[:-1]):
        if at in region.reduced:
            reduced *= dim.extent
        else:
            outer *= dim.extent
    widest = region.dims[-1].extent
    several = any(region.full[item.value] for item in region.stores)
    fitting = [
        tile
        for tile in _TILES
        if (not several or tile * reduced <= _CACHE_ELEMENTS) and outer * -(-widest // tile) >= 2
    ]
    return max(fitting, default=_TILES[0])


class _Columns:
    """The text of one entry."""

    def __init__(self, body: Body, choice: Choice) -> None:
        self.body, self.choice, self.text = body, choice, body.text
        region = body.region
        dims = range(len(region.dims))
        self.outer = [dim for dim in dims if dim not in region.reduced and dim != body.inner]
        self.reduced = [dim for dim in dims if dim in region.reduced]
        self.tile = choice.integer("tile")
        self.kept_arrays = self._crossing()
        self.known: list[int] = []

    def _crossing(self) -> list[int]:
        """Kept lanes of a later phase that a full node reads: they live in arrays between passes."""
        region = self.body.region
        read = {arg for at, node in enumerate(region.nodes) if region.full[at] for arg in operands(node)} | {
            item.value for item in region.stores if region.full[item.value]
        }
        return [at for at in sorted(read) if not region.full[at] and region.phases[at] and self.body.wide(at)]

    def write(self) -> None:
        body, text = self.body, self.text
        assert body.inner is not None
        size, tiles = body.size(body.inner), body.tiles(body.inner, self.tile)
        text.open(body.signature())
        if body.extent(range(len(body.region.dims))) >= FEW:
            text.line("#pragma omp parallel")
        text.open("{")
        self._arrays()
        text.line(f"const kw::Share part = kw::share({body.count(self.outer, tiles)});")
        text.open("for (int64_t item = part.begin; item < part.end; ++item) {")
        text.line(f"const int64_t lo = item % {text_of(tiles)} * {self.tile};")
        text.line(f"const int64_t hi = lo + {self.tile} < {size} ? lo + {self.tile} : {size};")
        body.decode(self.outer, f"item / {text_of(tiles)}")
        self._singles(0)
        self._kept(0)
        for number in range(body.passes):
            self._store_pass(number)
            self._fold_pass(number)
            self._kept(number + 1)
        text.close()
        if self.choice.text("stores") == "streamed":
            text.line("_mm_sfence();")
        text.close()
        text.close()

    def _arrays(self) -> None:
        for at, node in enumerate(self.body.region.nodes):
            if isinstance(node, Reduce):
                kind = self.body.single_type(at)
                wide = "double" if kind == "float" and node.op == "sum" else kind
                self.text.line(f"kw::Local<{kind}> now{at}({self.tile});")
                self.text.line(f"kw::Local<{wide}> all{at}({self.tile});")
        for at in self.kept_arrays:
            if not isinstance(self.body.region.nodes[at], Reduce):
                self.text.line(f"kw::Local<{self.body.single_type(at)}> kept{at}({self.tile});")

    def _place(self, at: int) -> str:
        kind = "now" if isinstance(self.body.region.nodes[at], Reduce) else "kept"
        return f"{kind}{at}.at - lo"

    def _fold_pass(self, number: int) -> None:
        body, text = self.body, self.text
        folds, _ = body.pass_of(number)
        if not folds:
            return
        text.open("{")
        for at in folds:
            text.line(f"kw::begin<kw::{self._op(at)}>(now{at}.at, all{at}.at, hi - lo);")
        *loops, last = self.reduced
        for dim in loops:
            text.open(f"for (int64_t i{dim} = 0; i{dim} < {body.size(dim)}; ++i{dim}) {{")
        self._rows(folds, last)
        for _ in loops:
            text.close()
        for at in folds:
            text.line(f"kw::end(now{at}.at, all{at}.at, hi - lo);")
        text.close()

    def _rows(self, folds: list[int], dim: int) -> None:
        """Blocks of rows of the innermost reduced loop, sums put away after each block."""
        body, text = self.body, self.text
        arguments = [body.region.nodes[at].arg for at in folds]  # type: ignore[union-attr]
        nodes = body.closure(arguments, [*self.known, *self.kept_arrays])
        narrow, wide = [at for at in nodes if not body.wide(at)], [at for at in nodes if body.wide(at)]
        rows = 1 if any(dim in body.varies[at] for at in narrow) else self.choice.integer("rows")
        size, block = body.size(dim), 16 * rows
        text.open(f"for (int64_t block = 0; block < {size}; block += {block}) {{")
        text.line(f"const int64_t end = block + {block} < {size} ? block + {block} : {size};")
        text.line(f"int64_t i{dim} = block;")
        for count in dict.fromkeys((rows, 1)):
            text.open(f"for (; i{dim} + {count} <= end; i{dim} += {count}) {{")
            body.single(narrow)
            body.point(wide)
            body.spread(wide, arguments)
            self._fold_rows(folds, arguments, wide, [(dim, row) for row in range(count)])
            text.close()
        for at in folds:
            text.line(f"kw::put_away<kw::{self._op(at)}>(now{at}.at, all{at}.at, hi - lo);")
        text.close()

    def _fold_rows(
        self, folds: list[int], arguments: list[int], wide: list[int], rows: list[tuple[int, int]]
    ) -> None:
        """One sweep that folds some rows into the accumulators."""
        body, text = self.body, self.text
        driver = "sweep" if body.lanes else "sweep_one"
        text.open(f"kw::{driver}<{self.choice['unroll']}>(lo, hi, 0, [&](auto lanes, int64_t j, auto) {{")
        for at in folds:
            text.line(f"auto a{at} = kw::load(now{at}.at - lo + j, lanes);")
        self._load_kept(wide, arguments)
        for number, row in enumerate(rows):
            for at, argument in zip(folds, arguments, strict=True):
                text.line(f"{body.lane_type(body.region.nodes[argument])} v{at}_{number};")
            text.open("{")
            body.wide_nodes(wide, row=row)
            for at, argument in zip(folds, arguments, strict=True):
                text.line(f"v{at}_{number} = {body.name(argument, body.lanes)};")
            text.close()
        for at in folds:
            tree = _tree([f"v{at}_{number}" for number in range(len(rows))], f"kw::{self._op(at)}::of")
            text.line(f"a{at} = kw::{self._op(at)}::of(a{at}, {tree});")
            text.line(f"kw::store(now{at}.at - lo + j, a{at}, lanes);")
        text.close("}, [] {});")

    def _op(self, at: int) -> str:
        node = self.body.region.nodes[at]
        assert isinstance(node, Reduce)
        return FOLD_OPS[node.op]

    def _load_kept(self, wide: Iterable[int], targets: Iterable[int]) -> None:
        body = self.body
        used = {arg for at in wide for arg in operands(body.region.nodes[at])} | set(targets)
        for at in self.kept_arrays:
            if at in used:
                kind = body.lane_type(body.region.nodes[at])
                self.text.line(f"const {kind} t{at} = kw::load({self._place(at)} + j, lanes);")

    def _singles(self, phase: int) -> None:
        """Single values that vary along the outer loops only."""
        region, body = self.body.region, self.body
        now = [
            at
            for at in body.closure(range(len(region.nodes)))
            if region.phases[at] == phase and not body.varies[at] - set(self.outer) and at not in self.known
        ]
        body.single(now)
        self.known += now

    def _kept(self, phase: int) -> None:
        """Kept lanes of a phase, from the totals: to arrays for later passes, results to memory."""
        region, text = self.body.region, self.text
        stores: Numbered = [
            (number, item)
            for number, item in enumerate(region.stores)
            if not region.full[item.value] and region.phases[item.value] == phase
        ]
        arrays = [at for at in self.kept_arrays if region.phases[at] == phase and not self._is_fold(at)]
        if not stores and not arrays:
            return
        totals = {
            at: f"now{at}.at - lo"
            for at, node in enumerate(region.nodes)
            if isinstance(node, Reduce) and region.phases[at] <= phase
        }
        earlier = {
            at: self._place(at)
            for at in self.kept_arrays
            if region.phases[at] < phase and not self._is_fold(at)
        }
        fill = {at: self._place(at) for at in arrays}
        text.open("{")
        sweep(self.body, self.choice, stores, (), self.known, {**totals, **earlier, **fill}, arrays)
        text.close()

    def _is_fold(self, at: int) -> bool:
        return isinstance(self.body.region.nodes[at], Reduce)

    def _store_pass(self, number: int) -> None:
        body, text = self.body, self.text
        _, written = body.pass_of(number)
        if not written:
            return
        stores: Numbered = [(at, item) for at, item in enumerate(body.region.stores) if item in written]
        text.open("{")
        for dim in self.reduced:
            text.open(f"for (int64_t i{dim} = 0; i{dim} < {body.size(dim)}; ++i{dim}) {{")
        arrays = {at: self._place(at) for at in self.kept_arrays if body.region.phases[at] <= number}
        sweep(body, self.choice, stores, (), self.known, arrays)
        for _ in self.reduced:
            text.close()
        text.close()


def _tree(terms: list[str], function: str) -> str:
    """The terms put together pairwise, so that no chain is long."""
    while len(terms) > 1:
        pairs = [f"{function}({a}, {b})" for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]
