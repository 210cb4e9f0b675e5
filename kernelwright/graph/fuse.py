"""Which computed nodes share a loop nest: groups grown along edges while one nest can hold them.

Every computed node begins as a group. Two groups merge if no path leaves one and enters the other
through a third (the order of steps would be a circle) and `fits` says that one nest holds both.
Producers merge with consumers first, then groups that only read the same tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torch import fx

Fits = Callable[[Sequence[fx.Node]], bool]


class Fusion:
    """Groups over `nodes` (all live operations in graph order, views left out)."""

    def __init__(self, nodes: Sequence[fx.Node], reads: Callable[[fx.Node], Iterable[fx.Node]]) -> None:
        self._order = {node: at for at, node in enumerate(nodes)}
        self._members: dict[int, tuple[fx.Node, ...]] = {at: (node,) for node, at in self._order.items()}
        self._group = dict(self._order)
        self._reads = {node: list(reads(node)) for node in nodes}

    def merge(self, computed: Callable[[fx.Node], bool], fits: Fits) -> None:
        """Merge until nothing more fits."""
        tried: set[tuple[int, ...]] = set()
        changed = True
        while changed:
            changed = False
            for producer, consumer in self._pairs(computed):
                a, b = self._group[producer], self._group[consumer]
                key = (a, b, len(self._members[a]), len(self._members[b]))
                if a == b or key in tried:
                    continue
                tried.add(key)
                changed |= self._try(a, b, fits)

    def groups(self) -> list[tuple[fx.Node, ...]]:
        """The groups in an order in which they can run."""
        done: dict[int, None] = {}

        def visit(group: int) -> None:
            if group in done or group in path:
                return
            path.add(group)
            for before in sorted(self._before(group)):
                visit(before)
            done[group] = None

        path: set[int] = set()
        for group in sorted(self._members):
            visit(group)
        return [self._members[group] for group in done]

    def _pairs(self, computed: Callable[[fx.Node], bool]) -> Iterable[tuple[fx.Node, fx.Node]]:
        able = [node for node in self._order if computed(node)]
        for consumer in able:
            for producer in self._reads[consumer]:
                if producer in self._order and computed(producer):
                    yield producer, consumer
        readers: dict[fx.Node, fx.Node] = {}
        for node in able:
            for source in self._reads[node]:
                if source in readers:
                    yield readers[source], node
                readers.setdefault(source, node)

    def _try(self, a: int, b: int, fits: Fits) -> bool:
        if self._through_a_third(a, b) or self._through_a_third(b, a):
            return False
        both = sorted({*self._members[a], *self._members[b]}, key=self._order.__getitem__)
        if not fits(both):
            return False
        del self._members[b]
        self._members[a] = tuple(both)
        self._group.update(dict.fromkeys(both, a))
        return True

    def _before(self, group: int) -> set[int]:
        found = {
            self._group[arg]
            for node in self._members[group]
            for arg in self._reads[node]
            if arg in self._group
        }
        return found - {group}

    def _through_a_third(self, first: int, last: int) -> bool:
        """Whether `last` depends on `first` other than directly."""
        waiting = [group for group in self._before(last) if group != first]
        seen = set(waiting)
        while waiting:
            before = self._before(waiting.pop())
            if first in before:
                return True
            fresh = before - seen - {last}
            seen |= fresh
            waiting += fresh
        return False
