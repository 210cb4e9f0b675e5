"""Spaces of choices: what a template lets a search decide.

A `Space` is an ordered list of named parameters, each with an ordered list of values and a default.
A `Choice` gives every parameter a value. Every combination is allowed: a template makes sense of
each, so that search needs no constraint solver. What a choice *means* is the template's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from kernelwright.core.errors import UsageError, did_you_mean

Value = int | float | str | bool


class Choice(Mapping[str, Value]):
    """A frozen, hashable mapping of parameter names to values."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value] | Iterable[tuple[str, Value]] = ()) -> None:
        self._values: dict[str, Value] = dict(values)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Choice({self._values!r})"

    def but(self, **changes: Value) -> Choice:
        """The same choice with some values changed."""
        return Choice({**self._values, **changes})

    def under(self, prefix: str) -> Choice:
        """The part whose names begin with `prefix`, without it."""
        return Choice((name[len(prefix) :], value) for name, value in self.items() if name.startswith(prefix))

    def integer(self, name: str) -> int:
        """The value of a numeric parameter."""
        return int(self._values[name])

    def text(self, name: str) -> str:
        """The value of a text parameter."""
        return str(self._values[name])


@dataclass(frozen=True, slots=True)
class Parameter:
    """One decision: its values in order, and which of them is the default."""

    name: str
    values: tuple[Value, ...]
    default: Value

    def __post_init__(self) -> None:
        if self.default not in self.values:
            raise UsageError(f"default {self.default!r} of '{self.name}' is not among {self.values}")

    def steps(self, value: Value) -> tuple[Value, ...]:
        """Values one step away: the adjacent ones of numbers, all others of names and switches."""
        if all(isinstance(each, int | float) and not isinstance(each, bool) for each in self.values):
            at = self.values.index(value)
            return self.values[max(0, at - 1) : at] + self.values[at + 1 : at + 2]
        return tuple(each for each in self.values if each != value)


@dataclass(frozen=True)
class Space:
    """Parameters in order. Names are unique."""

    parameters: tuple[Parameter, ...] = ()

    @classmethod
    def of(cls, **values: tuple[Value, ...]) -> Space:
        """A space whose defaults are the first of each parameter's values."""
        return cls(tuple(Parameter(name, each, each[0]) for name, each in values.items()))

    def prefixed(self, prefix: str) -> Space:
        """The same space with `prefix` before every name."""
        return Space(tuple(Parameter(prefix + p.name, p.values, p.default) for p in self.parameters))

    def __add__(self, other: Space) -> Space:
        return Space(self.parameters + other.parameters)

    @property
    def size(self) -> int:
        """Number of choices."""
        return math.prod(len(parameter.values) for parameter in self.parameters)

    def default(self) -> Choice:
        """The choice to begin with."""
        return Choice((parameter.name, parameter.default) for parameter in self.parameters)

    def random(self, rng: Random) -> Choice:
        """A choice drawn uniformly."""
        return Choice((parameter.name, rng.choice(parameter.values)) for parameter in self.parameters)

    def neighbors(self, choice: Choice) -> list[Choice]:
        """All choices that differ from `choice` by one step of one parameter."""
        return [
            choice.but(**{parameter.name: value})
            for parameter in self.parameters
            for value in parameter.steps(choice[parameter.name])
        ]

    def crossover(self, a: Choice, b: Choice, rng: Random) -> Choice:
        """A choice that takes each value from `a` or from `b`."""
        return Choice((p.name, rng.choice((a, b))[p.name]) for p in self.parameters)

    def complete(self, values: Mapping[str, Value]) -> Choice:
        """The default choice with `values` put in; UsageError on an unknown name or value."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in values.items():
            if name not in known:
                raise UsageError(f"unknown parameter '{name}'; {did_you_mean(name, known)}")
            if value not in known[name].values:
                raise UsageError(
                    f"parameter '{name}' is {value!r}; allowed: {', '.join(map(repr, known[name].values))}"
                )
        return self.default().but(**values)
