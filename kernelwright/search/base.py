"""`Strategy`: the ask/tell contract of every search, and its `Budget`.

    choices = strategy.ask(4)              # what to try next; empty when nothing is left
    strategy.tell(choices[0], 812.5)       # its cost, lower is better; None where it was rejected

A strategy knows a space and costs, nothing of kernels, compilers or clocks. It never offers a
choice twice. Answers may come late, in any order, or never.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Protocol

from kernelwright.core.registry import Registry
from kernelwright.propose.space import Choice, Space


class Strategy(Protocol):
    """Chooses what to try next."""

    name: str

    def __init__(self, space: Space, rng: Random) -> None:
        """Begin in `space`; all chance comes from `rng`."""

    def ask(self, n: int) -> list[Choice]:
        """Up to `n` choices that were not offered before; fewer only where the space is used up."""
        ...

    def tell(self, choice: Choice, cost: float | None) -> None:
        """What a choice costs; None: it was rejected. Also takes choices that were never asked for."""
        ...


STRATEGIES: Registry[type[Strategy]] = Registry(
    "strategy",
    {
        "random": "kernelwright.search.random:RandomSearch",
        "local": "kernelwright.search.local:LocalSearch",
        "evolution": "kernelwright.search.evolution:Evolution",
    },
)


class Fresh:
    """Offers each choice of a space at most once."""

    def __init__(self, space: Space, rng: Random) -> None:
        self.space = space
        self.rng = rng
        self._seen: set[Choice] = set()

    def take(self, choice: Choice) -> bool:
        """Mark `choice` as offered; False if it already was."""
        if choice in self._seen:
            return False
        self._seen.add(choice)
        return True

    @property
    def left(self) -> int:
        """Choices never offered."""
        return self.space.size - len(self._seen)

    def random(self, tries: int = 64) -> Choice | None:
        """A fresh random choice, or None where none was found in `tries` draws."""
        for _ in range(tries):
            choice = self.space.random(self.rng)
            if self.take(choice):
                return choice
        return None


class Budget:
    """Seconds of search. Time in `paused` blocks (waiting for a machine, say) does not count."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._begun = clock()
        self._paused = 0.0

    @property
    def used(self) -> float:
        """Seconds of search so far."""
        return self._clock() - self._begun - self._paused

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(self.seconds - self.used, 0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time in this block is queueing, not search."""
        begun = self._clock()
        try:
            yield
        finally:
            self._paused += self._clock() - begun
