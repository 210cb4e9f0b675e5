"""Which reductions run in which pass over a region's elements, and what each keeps while it folds.

With `online` statistics two dependent reductions share one pass: mean and centred squares as moments,
maximum and sum of exponentials as a rescaled sum. Both are as exact as the two passes they replace.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.graph.loops import Apply, Const, Load, Reduce, Region, SizeOf, operands
from kernelwright.propose.templates.cuda.emit import closure, ctype_of

_STATE = {"sum": "kw_sum", "prod": "kw_prod", "max": "kw_max", "min": "kw_min"}
_FLOATING = ("float", "double")
STATE_WORDS = {"kw_moments": 3, "kw_softsum": 2, "kw_long_sum": 2}
"""How many values of its type a state keeps; 1 where it is not listed."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One state: the node it folds, and how each reduction is read from it."""

    arg: int
    state: str
    """C++ type, such as `kw_moments<float>`."""
    results: tuple[tuple[int, str], ...]
    """Reduce nodes, and the member that holds each: `value`, `total()`, `squares`, `top`."""

    @property
    def field(self) -> str:
        """Name of the state in its pass's structure."""
        return f"f{self.results[0][0]}"

    @property
    def state_bytes(self) -> int:
        """Size of the state on the device."""
        name, _, ctype = self.state.partition("<")
        return STATE_WORDS.get(name, 1) * (8 if ctype.rstrip(">") in ("double", "long long") else 4)


class Schedule:
    """Folds by pass, and when each node is at hand: pass p's results are known after pass p."""

    def __init__(self, region: Region, online: bool) -> None:
        self.region = region
        reduces = [at for at, node in enumerate(region.nodes) if isinstance(node, Reduce)]
        self._partner = dict(_pairs(region, reduces)) if online else {}
        self.after = self._availability()
        self.passes: list[list[Fold]] = [
            [
                self._fold(at)
                for at in reduces
                if self.after[at] == number and at not in self._partner.values()
            ]
            for number in range(1, max((self.after[at] for at in reduces), default=0) + 1)
        ]

    def _availability(self) -> list[int]:
        second = {later: first for first, later in self._partner.items()}
        found: list[int] = []
        for at, node in enumerate(self.region.nodes):
            before = max((found[arg] for arg in operands(node)), default=0)
            found.append(found[second[at]] if at in second else before + isinstance(node, Reduce))
        return found

    def _fold(self, at: int) -> Fold:
        node = self.region.nodes[at]
        assert isinstance(node, Reduce)
        ctype = ctype_of(self.region, at)
        if at not in self._partner:
            if node.op == "sum" and ctype in _FLOATING:
                return Fold(node.arg, f"kw_long_sum<{ctype}>", ((at, "total()"),))
            return Fold(node.arg, f"{_STATE[node.op]}<{ctype}>", ((at, "value"),))
        later = self._partner[at]
        if node.op == "max":
            return Fold(node.arg, f"kw_softsum<{ctype}>", ((at, "top"), (later, "total()")))
        return Fold(node.arg, f"kw_moments<{ctype}>", ((at, "total()"), (later, "squares")))

    @property
    def reduces(self) -> frozenset[int]:
        """All reduce nodes."""
        return frozenset(result for folds in self.passes for fold in folds for result, _ in fold.results)

    @property
    def kept_stores(self) -> list[int]:
        """Numbers of the stores that happen once per kept index."""
        return [at for at, store in enumerate(self.region.stores) if not self._full_store(at)]

    @property
    def full_stores(self) -> list[int]:
        """Numbers of the stores that happen at every element."""
        return [at for at in range(len(self.region.stores)) if self._full_store(at)]

    def _full_store(self, at: int) -> bool:
        store = self.region.stores[at]
        return any(store.access.strides[dim] != 0 for dim in self.region.reduced)

    def shared_kept(self, number: int) -> list[int]:
        """Kept nodes that full values need, first at hand after pass `number`."""
        args = [fold.arg for folds in self.passes for fold in folds]
        values = [self.region.stores[at].value for at in self.full_stores]
        full = self.region.full
        needed = closure(self.region, [*args, *values], self.reduces)
        edge = {
            arg for at in needed if full[at] for arg in operands(self.region.nodes[at]) if not full[arg]
        } | {target for target in [*args, *values] if not full[target]}
        kept = closure(self.region, edge, self.reduces)
        return [at for at in kept if self.after[at] == number and not is_plain(self.region, at)]

    def at_hand(self) -> frozenset[int]:
        """Nodes that a full value finds ready: reductions and shared kept nodes."""
        kept = {at for number in range(len(self.passes) + 1) for at in self.shared_kept(number)}
        return self.reduces | kept

    def loads_in(self, targets: Iterable[int]) -> list[int]:
        """Full load nodes that `targets` need in one pass."""
        nodes = closure(self.region, targets, self.at_hand())
        return [at for at in nodes if isinstance(self.region.nodes[at], Load)]


def is_plain(region: Region, at: int) -> bool:
    """Whether a node is written where it is used, without a variable."""
    return isinstance(region.nodes[at], Const | SizeOf)


def _pairs(region: Region, reduces: list[int]) -> list[tuple[int, int]]:
    """Pairs (first, second) of reductions that one state can fold together; each used once."""
    found: list[tuple[int, int]] = []
    used: set[int] = set()
    for later in reduces:
        first = _first_of_softmax(region, later)
        if first is None:
            first = _first_of_variance(region, later)
        if first is not None and not {first, later} & used:
            found.append((first, later))
            used |= {first, later}
    return found


def _apply(region: Region, at: int, *ops: str) -> Apply | None:
    node = region.nodes[at]
    return node if isinstance(node, Apply) and node.op in ops else None


def _reduce(region: Region, at: int, op: str) -> Reduce | None:
    node = region.nodes[at]
    return node if isinstance(node, Reduce) and node.op == op else None


def _first_of_softmax(region: Region, later: int) -> int | None:
    """The maximum m of `sum(exp(x - m))`."""
    total = _reduce(region, later, "sum")
    exponential = total and _apply(region, total.arg, "exp")
    difference = exponential and _apply(region, exponential.args[0], "sub")
    if not difference:
        return None
    first = _reduce(region, difference.args[1], "max")
    folds = first is not None and first.arg == difference.args[0] and _one_float(region, later, first.arg)
    return difference.args[1] if folds else None


def _first_of_variance(region: Region, later: int) -> int | None:
    """The sum s of `sum((x - s / n)²)`, n the number of elements folded."""
    total = _reduce(region, later, "sum")
    square = total and _apply(region, total.arg, "mul", "pow")
    if not square or not _is_square(region, square):
        return None
    difference = _apply(region, square.args[0], "sub")
    mean = difference and _apply(region, difference.args[1], "div", "mul")
    if not difference or not mean or not _divides_by_count(region, mean):
        return None
    first = _reduce(region, mean.args[0], "sum")
    folds = first is not None and first.arg == difference.args[0] and _one_float(region, later, first.arg)
    return mean.args[0] if folds else None


def _one_float(region: Region, later: int, arg: int) -> bool:
    """Whether both nodes are computed in the same floating type."""
    return ctype_of(region, later) == ctype_of(region, arg) and ctype_of(region, arg) in _FLOATING


def _is_square(region: Region, node: Apply) -> bool:
    exponent = region.nodes[node.args[1]]
    if node.op == "mul":
        return node.args[0] == node.args[1]
    return isinstance(exponent, Const) and exponent.value == 2


def _divides_by_count(region: Region, mean: Apply) -> bool:
    """Whether the second argument is the number of reduced elements (or its reciprocal, for a product)."""
    other = region.nodes[mean.args[1]]
    if isinstance(other, SizeOf):
        return mean.op == "div" and frozenset(other.dims) == region.reduced
    sizes = [region.dims[dim].size for dim in region.reduced]
    if not isinstance(other, Const) or not all(isinstance(size, int) for size in sizes):
        return False
    count = math.prod(int(size) for size in sizes)
    return math.isclose(float(other.value), count if mean.op == "div" else 1 / count, rel_tol=1e-12)
