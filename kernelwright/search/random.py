"""Random search: the default choice first, then uniform draws. The yardstick of the other strategies."""

from __future__ import annotations

from random import Random

from kernelwright.propose.space import Choice, Space
from kernelwright.search.base import Fresh


class RandomSearch:
    """Uniform draws without repetition."""

    name = "random"

    def __init__(self, space: Space, rng: Random) -> None:
        self._fresh = Fresh(space, rng)
        self._begun = False

    def ask(self, n: int) -> list[Choice]:
        """The default choice once, then draws."""
        chosen: list[Choice] = []
        if not self._begun:
            self._begun = True
            default = self._fresh.space.default()
            chosen += [default] if self._fresh.take(default) else []
        while len(chosen) < n and self._fresh.left:
            choice = self._fresh.random()
            if choice is None:
                break
            chosen.append(choice)
        return chosen[:n]

    def tell(self, choice: Choice, cost: float | None) -> None:
        """Remember that the choice was tried; costs change nothing."""
        self._fresh.take(choice)
