"""Evolution: a small population of the best choices, crossed and mutated.

Begins with the default choice and its neighbours, because template defaults are good guesses;
then each offspring takes its values from two parents picked by tournament and moves one or two
steps. A tenth of what is offered is drawn at random, so that no value dies out.
"""

from __future__ import annotations

from random import Random

from kernelwright.propose.space import Choice, Space
from kernelwright.search.base import Fresh

POPULATION = 12
TOURNAMENT = 3
RANDOM_SHARE = 0.1


class Evolution:
    """Crossover and mutation over the best choices so far."""

    name = "evolution"

    def __init__(self, space: Space, rng: Random) -> None:
        self._fresh = Fresh(space, rng)
        self._rng = rng
        self._costs: dict[Choice, float] = {}
        around = space.neighbors(space.default())
        rng.shuffle(around)
        self._seeds = [space.default(), *around[: POPULATION - 1]]

    def ask(self, n: int) -> list[Choice]:
        """Seeds first, then offspring; random draws where offspring are no longer new."""
        chosen: list[Choice] = []
        while len(chosen) < n and self._fresh.left > 0:
            choice = self._next()
            if choice is None:
                break
            chosen.append(choice)
        return chosen

    def tell(self, choice: Choice, cost: float | None) -> None:
        """Only choices that were accepted may become parents."""
        self._fresh.take(choice)
        if cost is not None:
            self._costs[choice] = cost

    def _next(self) -> Choice | None:
        for source in (self._seed, self._offspring, self._fresh.random):
            choice = source()
            if choice is not None:
                return choice
        return None

    @property
    def _population(self) -> list[Choice]:
        return sorted(self._costs, key=self._costs.__getitem__)[:POPULATION]

    def _seed(self) -> Choice | None:
        while self._seeds:
            choice = self._seeds.pop(0)
            if self._fresh.take(choice):
                return choice
        return None

    def _offspring(self, tries: int = 16) -> Choice | None:
        population = self._population
        if not population or self._rng.random() < RANDOM_SHARE:
            return None
        for _ in range(tries):
            child = self._fresh.space.crossover(self._parent(population), self._parent(population), self._rng)
            for _ in range(self._rng.choice((1, 1, 2))):
                near = self._fresh.space.neighbors(child)
                child = self._rng.choice(near) if near else child
            if self._fresh.take(child):
                return child
        return None

    def _parent(self, population: list[Choice]) -> Choice:
        """The best of a few drawn at random; `population` is sorted, so the lowest index is the best."""
        return population[min(self._rng.randrange(len(population)) for _ in range(TOURNAMENT))]
