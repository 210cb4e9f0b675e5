"""C++ for reductions along contiguous elements: one thread does all passes over a row, then the next row.

A row is one kept index with all its reduced elements: of layer norm a token, of group norm a group,
of batch norm a channel (whose elements lie in runs). A row that fits the second-level cache is read
from memory once; later passes read it there. While the last pass runs, the next row can be asked
for, so that memory is never idle. Costly values (`exp`) can be kept from one pass to the next.
"""

from __future__ import annotations

from kernelwright.core.expr import Expr
from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Apply, Region
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cpp.body import Body
from kernelwright.propose.templates.cpp.sweep import FEW, Numbered, stores_parameter, sweep
from kernelwright.propose.templates.cpp.text import COSTLY, HEADER

LONGEST_STASH = 1 << 16
"""Elements of a row whose values may be kept: with the row itself they fit the second-level cache."""


class CppRow:
    """Reduced elements innermost; rows over threads."""

    name = "cpp_row"
    target: TargetName = "cpu"

    def unavailable(self, region: Region) -> str | None:
        """The innermost loop must be reduced."""
        if not region.reduced:
            return "the region does not reduce"
        if len(region.dims) - 1 not in region.reduced:
            return "the innermost loop is kept"
        return None

    def space(self, region: Region) -> Space:
        """How results are stored, lanes at once, whether the next row is asked for, what is kept."""
        body = Body(region, "probe", len(region.dims) - 1)
        stashed = ("no", "costly") if _costly_again(body) else ("no",)
        return Space((
            stores_parameter(region),
            Parameter("unroll", (1, 2, 4, 8), 4),
            Parameter("division", ("reciprocal", "exact"), "reciprocal"),
            Parameter("next_row", ("no", "first", "last"), "first"),
            Parameter("stash", stashed, stashed[-1]),
        ))  # fmt: skip

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """One entry."""
        reciprocal = choice.text("division") == "reciprocal"
        body = Body(region, entry, len(region.dims) - 1, reciprocal)
        _Rows(body, choice).write()
        return Emitted(str(body.text), (body.call(),), header=HEADER)


def _costly_again(body: Body) -> list[int]:
    """Costly nodes of the vector loop that more than one pass computes."""
    if not body.lanes or body.extent(body.region.reduced) > LONGEST_STASH:
        return []
    counts: dict[int, int] = {}
    for number in range(body.passes):
        folds, stores = body.pass_of(number)
        targets = [body.region.nodes[at].arg for at in folds] + [item.value for item in stores]  # type: ignore[union-attr]
        for at in body.closure(targets):
            counts[at] = counts.get(at, 0) + 1
    return [at for at, count in counts.items() if count > 1 and _is_costly(body, at)]


def _is_costly(body: Body, at: int) -> bool:
    node = body.region.nodes[at]
    return isinstance(node, Apply) and node.op in COSTLY and node.dtype == "float32" and body.wide(at)


class _Rows:
    """The text of one entry."""

    def __init__(self, body: Body, choice: Choice) -> None:
        self.body, self.choice, self.text = body, choice, body.text
        dims = range(len(body.region.dims))
        self.kept = [dim for dim in dims if dim not in body.region.reduced]
        self.outer = [dim for dim in dims if dim in body.region.reduced and dim != body.inner]
        self.known: list[int] = []
        self.stashed = _costly_again(body) if choice.text("stash") == "costly" else []
        self.filled: set[int] = set()

    def write(self) -> None:
        body, text = self.body, self.text
        text.open(body.signature())
        rows = body.extent(self.kept)
        if body.extent(range(len(body.region.dims))) >= FEW and rows > 1:
            text.line("#pragma omp parallel")
        text.open("{")
        for at in self.stashed:
            text.line(f"kw::Local<float> kept{at}({body.count(body.region.reduced)});")
        text.line(f"const kw::Share part = kw::share({body.count(self.kept)});")
        text.open("for (int64_t item = part.begin; item < part.end; ++item) {")
        body.decode(self.kept, "item")
        self._kept_nodes(0)
        for number in range(body.passes):
            self._pass(number)
            self._kept_nodes(number + 1)
        text.close()
        if self.choice.text("stores") == "streamed":
            text.line("_mm_sfence();")
        text.close()
        text.close()

    def _kept_nodes(self, phase: int) -> None:
        """Single values of this phase that do not vary along a reduced dimension, and their stores."""
        region, body = self.body.region, self.body
        now = [
            at
            for at in body.closure(range(len(region.nodes)))
            if region.phases[at] == phase and not region.full[at] and at not in self.known
        ]
        body.single(now)
        self.known += now
        for item in region.stores:
            if not region.full[item.value] and region.phases[item.value] == phase:
                body.write_single(item)

    def _pass(self, number: int) -> None:
        body, text = self.body, self.text
        folds, written = body.pass_of(number)
        stores: Numbered = [(at, item) for at, item in enumerate(body.region.stores) if item in written]
        for at in folds:
            text.line(f"{body.fold_type(at, self.choice.integer('unroll'))} r{at};")
        text.open("{")
        for dim in self.outer:
            text.open(f"for (int64_t i{dim} = 0; i{dim} < {body.size(dim)}; ++i{dim}) {{")
        assert body.inner is not None
        known = isinstance(body.region.dims[body.inner].size, int)
        text.line(f"{'constexpr' if known else 'const'} int64_t lo = 0, hi = {body.size(body.inner)};")
        self._sweep(number, folds, stores)
        for _ in self.outer:
            text.close()
        text.close()
        for at in folds:
            text.line(f"const {body.single_type(at)} t{at} = r{at}.total();")
        self.known += folds

    def _sweep(self, number: int, folds: list[int], stores: Numbered) -> None:
        body = self.body
        assert body.inner is not None
        size, flat = body.size(body.inner), "0"
        for dim in self.outer:
            flat = f"({flat} * {body.size(dim)} + i{dim})" if flat != "0" else f"i{dim}"
        place = {
            at: f"kept{at}.at + {flat} * {size}" if self.outer else f"kept{at}.at" for at in self.stashed
        }
        targets = [item.value for _, item in stores] + [body.region.nodes[at].arg for at in folds]  # type: ignore[union-attr]
        here = set(body.closure(targets, self.known))
        fill = [at for at in self.stashed if at in here and at not in self.filled]
        sweep(body, self.choice, stores, folds, self.known, place, fill, self._ahead(number))
        self.filled.update(fill)

    def _ahead(self, number: int) -> Expr:
        """Elements from a row to the next, in the pass that asks for it."""
        wanted = {"no": -1, "first": min(1, self.body.passes - 1), "last": self.body.passes - 1}
        if number != wanted[self.choice.text("next_row")] or not self.kept:
            return 0
        strides = [
            node.access.strides[self.kept[-1]]
            for at, node in enumerate(self.body.region.nodes)
            if self.body.streams(at) and hasattr(node, "access")
        ]
        return strides[0] if strides else 0
