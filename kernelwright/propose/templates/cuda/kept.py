"""Text of values that do not vary along the reduced dimensions, and the stores of them.

Shared ones are computed by every thread of a row, where full values need them. Those that only a
kept store needs are computed by the one thread that stores: only so may a buffer (a running
statistic) be read and written by the same kernel.
"""

from __future__ import annotations

from kernelwright.graph.loops import Apply, Index, Load, Region
from kernelwright.propose.templates.cuda.emit import STORED, apply_text, cast, closure, ctype_of, inline
from kernelwright.propose.templates.cuda.folds import Schedule, is_plain
from kernelwright.propose.templates.cuda.nest import Sizes
from kernelwright.propose.templates.cuda.pointers import Pointers


def racing(schedule: Schedule) -> str | None:
    """Why a buffer that is read by many threads and written by one would race, or None."""
    region = schedule.region
    written = {region.stores[at].access.buffer for at in schedule.kept_stores}
    shared = {at for number in range(len(schedule.passes) + 1) for at in schedule.shared_kept(number)}
    args = [fold.arg for folds in schedule.passes for fold in folds]
    shared |= set(schedule.loads_in([*args, *(region.stores[at].value for at in schedule.full_stores)]))
    for at in shared:
        node = region.nodes[at]
        if isinstance(node, Load) and node.access.buffer in written:
            return f"buffer '{node.access.buffer}' is written by one thread while others read it"
    return None


def divisors(schedule: Schedule) -> frozenset[int]:
    """Kept nodes by which full floating values are divided, one divisor for a whole row."""
    region = schedule.region
    targets = [fold.arg for folds in schedule.passes for fold in folds]
    targets += [region.stores[at].value for at in schedule.full_stores]
    known = schedule.at_hand()
    found = set()
    for at in closure(region, targets, known):
        node = region.nodes[at]
        if not isinstance(node, Apply) or node.op != "div" or not region.full[node.args[0]]:
            continue
        ctype, divisor = ctype_of(region, at), node.args[1]
        if divisor in known and ctype in ("float", "double") and ctype == ctype_of(region, divisor):
            found.add(divisor)
    return frozenset(found)


class Kept:
    """Scalar text of kept nodes; loop indexes are `i<dim>`."""

    def __init__(self, schedule: Schedule, sizes: Sizes, pointers: Pointers) -> None:
        self.schedule, self.sizes, self.pointers = schedule, sizes, pointers

    @property
    def region(self) -> Region:
        """The region of the schedule."""
        return self.schedule.region

    def name(self, at: int) -> str:
        """A node's value."""
        plain = inline(self.region, at, lambda node: self.sizes.text(self.sizes.count(node.dims)))
        return plain or f"n{at}"

    def lines(self, nodes: list[int]) -> list[str]:
        """Variables of kept nodes, in order."""
        return [
            f"const {ctype_of(self.region, at)} n{at} = {self._value(at)};"
            for at in nodes
            if not is_plain(self.region, at)
        ]

    def _value(self, at: int) -> str:
        node = self.region.nodes[at]
        if isinstance(node, Load):
            stored, pointer = STORED[node.dtype], self.pointers.name(node.access.buffer)
            place = self.sizes.offset(node.access, lambda dim: f"i{dim}")
            loaded = (
                f"kw_load<{self.pointers.load_hint(node.access)}, {stored}, 1>({pointer} + ({place})).v[0]"
            )
            return cast(loaded, stored, ctype_of(self.region, at))
        if isinstance(node, Index):
            return f"i{node.dim}"
        assert isinstance(node, Apply)
        return apply_text(self.region, node, self.name)

    def shared(self, number: int) -> list[str]:
        """Kept values that full ones need, at hand after pass `number`."""
        return self.lines(self.schedule.shared_kept(number))

    def divisors(self, number: int) -> list[str]:
        """Variables `d<node>` of what full values are divided by, at hand after pass `number`."""
        return [
            f"const kw_divisor<{ctype_of(self.region, at)}> d{at} = kw_divide_by(n{at});"
            for at in sorted(divisors(self.schedule))
            if self.schedule.after[at] == number
        ]

    def stores(self, condition: str) -> list[str]:
        """All kept stores, by the thread for which `condition` holds."""
        stores = [self.region.stores[at] for at in self.schedule.kept_stores]
        if not stores:
            return []
        nodes = closure(self.region, [store.value for store in stores], self.schedule.at_hand())
        lines = [f"if ({condition}) {{", *self.lines(nodes)]
        for store in stores:
            stored, pointer = STORED[store.dtype], self.pointers.name(store.access.buffer)
            value = cast(self.name(store.value), ctype_of(self.region, store.value), stored)
            place = self.sizes.offset(store.access, lambda dim: f"i{dim}")
            lines.append(f"{pointer}[{place}] = {value};")
        return [*lines, "}"]
