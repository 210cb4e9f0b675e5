"""Local search: try the neighbours of the best choice known; start anew where none is left.

A hill climber with restarts. Neighbours differ by one step of one parameter (`Space.neighbors`).
"""

from __future__ import annotations

from random import Random

from kernelwright.propose.space import Choice, Space
from kernelwright.search.base import Fresh


class LocalSearch:
    """Neighbours of the best, in random order, else a fresh draw."""

    name = "local"

    def __init__(self, space: Space, rng: Random) -> None:
        self._fresh = Fresh(space, rng)
        self._rng = rng
        self._costs: dict[Choice, float] = {}
        self._pending = [space.default()]
        self._around: Choice | None = None

    def ask(self, n: int) -> list[Choice]:
        """Neighbours of the best choice first, then random restarts."""
        chosen: list[Choice] = []
        while len(chosen) < n:
            choice = self._next()
            if choice is None:
                break
            chosen.append(choice)
        return chosen

    def tell(self, choice: Choice, cost: float | None) -> None:
        """A better choice moves the search to its neighbours."""
        self._fresh.take(choice)
        if cost is not None:
            self._costs[choice] = cost

    def _next(self) -> Choice | None:
        while True:
            self._recentre()
            if not self._pending:
                return self._fresh.random()
            choice = self._pending.pop()
            if self._fresh.take(choice):
                return choice

    def _recentre(self) -> None:
        best = min(self._costs, key=self._costs.__getitem__, default=None)
        if best is None or best == self._around:
            return
        self._around = best
        self._pending = self._fresh.space.neighbors(best)
        self._rng.shuffle(self._pending)
