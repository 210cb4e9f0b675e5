"""One vector loop of a C++ template: pointers, spread values, the sweep, its stores or its folds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from kernelwright.core.expr import Expr
from kernelwright.graph.loops import Reduce, Region, Store
from kernelwright.propose.space import Choice, Parameter
from kernelwright.propose.templates.cpp.body import Body
from kernelwright.propose.templates.cpp.sizes import text_of

FEW = 1 << 15
"""Elements below which starting threads costs more than it gives."""
CACHED = 1 << 20
"""Elements below which results are better left in the caches."""


def elements(region: Region) -> int:
    """Number of iterations of the whole nest."""
    return math.prod(dim.extent for dim in region.dims)


def stores_parameter(region: Region) -> Parameter:
    """Results that do not fit the caches are better written around them."""
    return Parameter("stores", ("cached", "streamed"), "streamed" if elements(region) >= CACHED else "cached")


Numbered = Sequence[tuple[int, Store]]


def sweep(
    body: Body,
    choice: Choice,
    stores: Numbered,
    folds: Sequence[int] = (),
    known: Iterable[int] = (),
    stash: Mapping[int, str] | None = None,
    fill: Iterable[int] = (),
    prefetch: Expr = 0,
) -> None:
    """The loop from `lo` to `hi` that writes `stores` and adds to the accumulators of `folds`.

    `known` nodes are declared already. Nodes in `stash` are kept in memory (`name + j`): written if
    in `fill`, else read. `prefetch` elements ahead of contiguous loads are asked for.
    """
    region, text = body.region, body.text
    held = {} if stash is None else {at: place for at, place in stash.items() if at not in set(fill)}
    targets = [item.value for _, item in stores] + [_argument(body, at) for at in folds] + list(fill)
    nodes = body.closure([at for at in targets if at not in held], [*known, *held])
    narrow, wide = [at for at in nodes if not body.wide(at)], [at for at in nodes if body.wide(at)]
    body.single(narrow)
    body.point(wide, stores)
    body.spread(wide, targets)
    streamed = choice.text("stores") == "streamed" and body.lanes and bool(stores)
    ahead = _alignment(body, stores) if streamed else "0"
    driver = "sweep" if body.lanes else "sweep_one"
    unroll = choice.integer("unroll")
    text.open(f"kw::{driver}<{unroll}>(lo, hi, {ahead}, [&](auto lanes, int64_t j, auto u) {{")
    text.line("(void)lanes, (void)u;")
    for at in wide if prefetch else ():
        if body.streams(at):
            text.line(f"kw::prefetch(p{at} + j + {text_of(prefetch)});")
    used = {arg for at in wide for arg in _arguments(body, at)} | set(targets)
    for at, place in held.items():
        if at in used:
            text.line(f"const {body.lane_type(region.nodes[at])} t{at} = kw::load({place} + j, lanes);")
    body.wide_nodes(wide)
    for at in fill:
        text.line(f"kw::store({stash[at]} + j, t{at}, lanes);" if stash else "")
    for at in folds:
        text.line(f"r{at}.add({body.name(_argument(body, at), lanes=body.lanes)}, lanes, u);")
    for number, item in stores:
        first = number == stores[0][0]
        body.write(item, number, "lanes", streamed, "" if first or not streamed else f"a{number}")
    flushes = " ".join(f"r{at}.flush();" for at in folds)
    text.close(f"}}, [&] {{ {flushes} }});")


def _argument(body: Body, at: int) -> int:
    node = body.region.nodes[at]
    assert isinstance(node, Reduce)
    return node.arg


def _arguments(body: Body, at: int) -> tuple[int, ...]:
    return getattr(body.region.nodes[at], "args", ())


def _alignment(body: Body, stores: Numbered) -> str:
    """Elements until the first store is aligned; declares for the others whether they are then, too."""
    (number, first), rest = stores[0], stores[1:]
    if body.inner is None or first.access.strides[body.inner] != 1:
        return "0"
    body.text.line(f"const int64_t ahead = kw::head(q{number} + lo, hi - lo);")
    for other, _ in rest:
        body.text.line(f"const bool a{other} = kw::aligned(q{other} + lo + ahead);")
    return "ahead"
