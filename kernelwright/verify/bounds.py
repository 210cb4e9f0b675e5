"""The mathematics of the precision contract: how far from the float64 oracle an output may be.

For one output of a problem: `o` the oracle, `e` eager's result, `u` the unit roundoff of the
output's type, `D` how far the oracle moves when every input and weight is perturbed by one
roundoff (root mean square over draws), `c` the factor from the operation counts of the graph.

    norm-wise      |k - o|  <=  max(2 |e - o|,  c | u|o| + D |)          (Euclidean norms)
    element-wise   |k_i - o_i|  <=  4 (c (u |o_i| + D_i + s) + env(|o_i|))

`c = 2 + log2(n) + sqrt(d)`: n the longest reduction, whose pairwise summation has the bound
log2(n) u sum|x| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2), d the
roundings on the way, which add like a random walk (same book, section 2.8). `env` is the largest error
that eager made among elements of like magnitude, at least 1,024 of them; `s` the smallest
subnormal. The derivation, and what it leaves out, is in `docs/design/precision-contract.md`.

Not covered: integers and booleans (equal or wrong) and which non-finite values match (`compare`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor

NORM_FACTOR = 2.0
"""How much larger than eager's the norm-wise error may be."""
TAIL_FACTOR = 4.0
"""Allowance of a single element over the typical error of its kind."""
LIKE = 1024
"""Elements of like magnitude that an envelope is taken over, at least."""

_ZERO_BIN = 0
_EXPONENT = 0x7FF
_BINS = _EXPONENT + 1


@dataclass(frozen=True, slots=True)
class Counts:
    """What the graph does to rounding errors."""

    reduction: int = 1
    """Length of its longest reduction, inner product or window."""
    roundings: int = 1
    """Operations that round, as written."""

    @property
    def factor(self) -> float:
        """`c` of the contract."""
        return 2.0 + math.log2(max(self.reduction, 1)) + math.sqrt(max(self.roundings, 1))


def roundoff(dtype: torch.dtype) -> float:
    """Unit roundoff of a floating type: half the distance from 1 to the next number."""
    return float(torch.finfo(dtype).eps) / 2


def norm_limit(eager_norm: float, floor_norm: float, factor: float) -> float:
    """The largest Euclidean norm that `k - o` may have: of eager's own error, and of `u|o| + D`."""
    return max(NORM_FACTOR * eager_norm, factor * floor_norm)


def element_limit(
    oracle: Tensor, moved: Tensor, envelope: Tensor, dtype: torch.dtype, factor: float
) -> Tensor:
    """The largest `|k_i - o_i|` for each element, float64; the arguments are finite float64 of one shape."""
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    scale = oracle.abs().mul_(roundoff(dtype)).add_(moved).add_(smallest)
    return scale.mul_(factor).add_(envelope).mul_(TAIL_FACTOR)


class Envelope:
    """For each value, the largest error among at least `like` values of like magnitude.

    Values are put into bins by binary exponent; a bin looks at its neighbours, and further ones
    until it has seen `like` values. Zeros stand alone: an exact zero borrows no error from others.
    """

    def __init__(self, like: int = LIKE, device: torch.device | str = "cpu") -> None:
        self._like = like
        self._counts = torch.zeros(_BINS, dtype=torch.int64, device=device)
        self._peaks = torch.zeros(_BINS, dtype=torch.float64, device=device)

    def add(self, values: Tensor, errors: Tensor) -> None:
        """Take in flat, finite float64 values and the absolute errors at them."""
        bins = magnitude_bins(values)
        self._counts += torch.bincount(bins, minlength=_BINS)
        self._peaks.scatter_reduce_(0, bins, errors, "amax")

    def table(self) -> Tensor:
        """The envelope of each bin; index it with `magnitude_bins`."""
        rows = _widened(self._counts.tolist(), self._peaks.tolist(), self._like)
        return torch.tensor(rows, dtype=torch.float64, device=self._peaks.device)


def magnitude_bins(values: Tensor) -> Tensor:
    """Bin number of each value, which is float64: its exponent's bits; 0 for zeros (and subnormal values)."""
    return values.view(torch.int64).bitwise_right_shift(52).bitwise_and_(_EXPONENT)


def _widened(counts: list[int], peaks: list[float], like: int) -> list[float]:
    """The peak over a window of occupied bins around each, wide enough to hold `like` values."""
    table = list(peaks)
    occupied = [index for index, count in enumerate(counts) if count and index != _ZERO_BIN]
    upto = [0, *accumulate(counts[index] for index in occupied)]
    for place, index in enumerate(occupied):
        first, last = place, place + 1
        if first > 0 and occupied[first - 1] == index - 1:
            first -= 1
        if last < len(occupied) and occupied[last] == index + 1:
            last += 1
        while upto[last] - upto[first] < like and last - first < len(occupied):
            first, last = max(first - 1, 0), min(last + 1, len(occupied))
        table[index] = max(peaks[bin_] for bin_ in occupied[first:last])
    return _filled(table, occupied)


def _filled(table: list[float], occupied: list[int]) -> list[float]:
    """Bins that look empty get what the nearest occupied one has: where not every value was looked at,
    a rare magnitude may have been missed."""
    edges = [(a + b) // 2 + 1 for a, b in pairwise(occupied)]
    for index, first, end in zip(occupied, [1, *edges], [*edges, len(table)], strict=False):
        table[first:end] = [table[index]] * (end - first)
    return table
