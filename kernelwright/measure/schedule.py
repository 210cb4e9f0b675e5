"""The order of timed calls: rounds in which each subject runs once, on the same slot.

Orders come in mirrored pairs (A B C, then C B A), so that a linear drift over two rounds cancels;
the first of each pair is drawn at random, so that no subject can know or own a place. Slots rotate
by round: each round meets other addresses than the one before.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Round:
    """One call of each subject, in this order, on this slot."""

    order: tuple[str, ...]
    slot: str


class Schedule:
    """An endless source of rounds."""

    def __init__(self, subjects: Sequence[str], slots: Sequence[str], rng: random.Random) -> None:
        if len(set(subjects)) != len(subjects) or not subjects or not slots:
            raise ValueError(f"a schedule needs distinct subjects and some slots; got {subjects} on {slots}")
        self._subjects = list(subjects)
        self._slots = list(slots)
        self._rng = rng
        self._made = 0
        self._mirror: tuple[str, ...] | None = None

    def take(self, count: int) -> list[Round]:
        """The next `count` rounds."""
        return [self._next() for _ in range(count)]

    def _next(self) -> Round:
        if self._mirror is None:
            order = tuple(self._rng.sample(self._subjects, len(self._subjects)))
            self._mirror = order[::-1]
        else:
            order, self._mirror = self._mirror, None
        slot = self._slots[self._made % len(self._slots)]
        self._made += 1
        return Round(order, slot)
