"""Which tensor dimensions are the same loop: the finest factorization that a group of tensors shares.

A tensor dimension is a product of *factors*, outermost first; a factor is a loop with a size.
Pointwise operations make dimensions equal (`unify`), views regroup factors (`regroup`), and both
split factors where boundaries do not coincide: group norm turns C into G x C/G. Dimensions of size
1 have no factors. Shapes that have no common factorization raise `Mismatch`; the caller then keeps
them in different loop nests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Factors = tuple[int, ...]


class Mismatch(Exception):
    """These operations cannot share a loop nest; the text says why."""


class Atoms:
    """Factors of one loop nest while it is put together."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._became: dict[int, Factors] = {}

    def new(self, size: int) -> Factors:
        """A dimension of its own."""
        if size == 1:
            return ()
        self._sizes.append(size)
        return (len(self._sizes) - 1,)

    def size(self, factor: int) -> int:
        """Number of iterations."""
        return self._sizes[factor]

    def extent(self, factors: Factors) -> int:
        """Number of elements of a dimension."""
        return math.prod(self._sizes[factor] for factor in factors)

    def resolve(self, factors: Iterable[int]) -> Factors:
        """What the factors have become by splitting and unifying."""
        found: list[int] = []
        for factor in factors:
            found.extend(self.resolve(self._became[factor]) if factor in self._became else (factor,))
        return tuple(found)

    def unify(self, a: Factors, b: Factors) -> None:
        """Make two dimensions of equal size the same loops."""
        left, right = self.resolve(a), self.resolve(b)
        while left and right:
            x, y = left[0], right[0]
            if x == y:
                left, right = left[1:], right[1:]
                continue
            if self.size(x) == self.size(y):
                self._became[y] = (x,)
            elif self.size(x) > self.size(y):
                self._split(x, self.size(y))
            else:
                self._split(y, self.size(x))
            left, right = self.resolve(left), self.resolve(right)
        if left or right:
            raise Mismatch("dimensions of different sizes")

    def regroup(self, dims: Sequence[Factors], shape: Sequence[int]) -> list[Factors]:
        """The same elements in the same order, as a tensor of `shape`."""
        rest = list(self.resolve(factor for dim in dims for factor in dim))
        grouped = [self._take(rest, size) for size in shape]
        if rest:
            raise Mismatch("a view of another size")
        return grouped

    def _take(self, rest: list[int], size: int) -> Factors:
        taken: list[int] = []
        while size > 1:
            if not rest:
                raise Mismatch("a view of another size")
            factor = rest.pop(0)
            have = self.size(factor)
            if have > size:
                outer, inner = self._split(factor, size)
                rest.insert(0, inner)
                factor, have = outer, size
            if have == 0 or size % have:
                raise Mismatch(f"a view that splits {have} into parts of {size}")
            taken.append(factor)
            size //= have
        return tuple(taken)

    def _split(self, factor: int, outer: int) -> Factors:
        size = self.size(factor)
        if outer == 0 or size % outer:
            raise Mismatch(f"{size} is not a multiple of {outer}")
        parts = (*self.new(outer), *self.new(size // outer))
        self._became[factor] = parts
        return parts
