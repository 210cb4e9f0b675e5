"""`rewritten`: a captured graph in the form that costs least, of those that rules lead to.

Two kinds of rules. What is *simpler* is applied wherever it matches, until nothing does: it never costs
more. What is *moved* across a product may cost more or less, by sizes and by what stands around: for each
product (for all that are alike) the graph is rewritten as far as it goes, and kept if the reporting floor of
the whole graph falls (where it is the same, if work does). `docs/design/rewrites.md` says why not equality
saturation.

Not covered: rules that need values (what an input merely happens to be), graphs that draw random numbers,
and moves that pay only together with one at another product.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import fx

from kernelwright.graph.capture import Captured
from kernelwright.graph.cost import work
from kernelwright.graph.rewrites import MOVED, SIMPLER
from kernelwright.graph.rewrites.base import Draft, Rule
from kernelwright.graph.rewrites.products import is_product
from kernelwright.graph.views import view_name

FLOPS_PER_BYTE = 10.0
"""Operations that take as long as one byte from memory, in order of magnitude: 51 TFLOP/s at 4.25 TB/s on
an H200 in float32, 7 to 20 on a CPU. It orders forms; the clock decides."""

_SEEN = 16
"""How far it is looked behind a product to tell whether two are alike."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a graph costs at least, in bytes that could be moved meanwhile."""

    flops: int
    moved_bytes: int
    """If all but library operations were fused."""

    @property
    def floor(self) -> float:
        """As the reporting floor has it: bytes or operations, whichever takes longer."""
        return max(self.flops / FLOPS_PER_BYTE, self.moved_bytes)

    @property
    def work(self) -> float:
        """Bytes and operations: what tells forms with equal floors apart."""
        return self.flops / FLOPS_PER_BYTE + self.moved_bytes


@dataclass(frozen=True)
class Rewritten:
    """A graph after rewriting."""

    captured: Captured
    rules: tuple[str, ...]
    """Names of the rules that were applied, in order, each once; empty where nothing changed."""
    products: frozenset[str]
    """Nodes across which something was moved: give them again to get the same graph at other sizes."""
    before: Price
    after: Price


def rewritten(captured: Captured, products: frozenset[str] | None = None) -> Rewritten:
    """Rewrite a graph. `products`: move across these instead of those that the cost says."""
    before = price(captured)
    if captured.random:
        return Rewritten(captured, (), frozenset(), before, before)
    draft = Draft(captured)
    applied = settled(draft, SIMPLER, draft.operations())
    chosen = _worth_moving(draft.copy()) if products is None else products
    for name in [node.name for node in draft.operations() if node.name in chosen]:
        applied += _across(draft, name)
    final = draft.captured() if applied else captured
    return Rewritten(final, tuple(dict.fromkeys(applied)), chosen, before, price(final))


def _worth_moving(draft: Draft) -> frozenset[str]:
    """Products across which moving lowers the floor of the graph, or else its work; uses the draft up."""
    least, chosen = price(draft.outline()), set()
    for alike in _alike(draft):
        names = [name for name in alike if _matches(draft, name)]
        if not names:
            continue
        trial = draft.copy()
        for name in names:
            _across(trial, name)
        found = price(trial.outline())
        if (found.floor, found.work) < (least.floor, least.work):
            draft, least = trial, found
            chosen.update(names)
    return frozenset(chosen)


def _alike(draft: Draft) -> list[list[str]]:
    """Names of the products, those together that have the same sizes and the same operations behind them.

    They gain or lose alike, so they are decided together: a network of fifty layers has a few kinds of them.
    """
    groups: dict[str, list[str]] = {}
    for node in draft.operations():
        if is_product(node):
            groups.setdefault(_surroundings(node), []).append(node.name)
    return list(groups.values())


def _surroundings(node: fx.Node) -> str:
    """Operands of a product, and the operations that follow as long as there is one reader only."""
    found = [str(each.meta["val"].shape) for each in node.all_input_nodes]
    readers = [node]
    while len(readers) == 1 and len(found) < _SEEN:
        found.append(f"{readers[0].target} {getattr(readers[0].meta.get('val'), 'shape', '')}")
        readers = _readers(readers[0])
    return "; ".join([*found, *(str(reader.target) for reader in readers)])


def settled(draft: Draft, rules: Sequence[Rule], nodes: Iterable[fx.Node]) -> list[str]:
    """Apply rules at these nodes and at what comes of it, until none matches; names of those applied."""
    waiting, applied = deque(nodes), []
    while waiting:
        node = waiting.popleft()
        if not draft.alive(node) or node.op != "call_function" or not node.users:
            continue
        for rule in rules:
            following = draft.attempt(rule, node)
            if following is not None:
                applied.append(rule.name)
                waiting.extend(following)
                break
    return applied


def _matches(draft: Draft, name: str) -> bool:
    """Whether anything can be moved across the product called `name`; cheaper than trying it on a copy."""
    product = _called(draft, name)
    readers = [] if product is None else _readers(product)
    return any(draft.matches(rule, reader) for rule in MOVED for reader in readers)


def _called(draft: Draft, name: str) -> fx.Node | None:
    return next((node for node in draft.operations() if node.name == name), None)


def _across(draft: Draft, name: str) -> list[str]:
    """Move what can be moved across the product called `name`."""
    product = _called(draft, name)
    return [] if product is None else settled(draft, (*MOVED, *SIMPLER), _readers(product))


def _readers(node: fx.Node) -> list[fx.Node]:
    """Operations that read a node, through views."""
    found: list[fx.Node] = []
    for user in node.users:
        found += _readers(user) if view_name(user) is not None else [user]
    return found


def price(captured: Captured) -> Price:
    """What a graph costs."""
    return Price(*work(captured))
