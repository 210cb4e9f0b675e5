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

import torch
from torch import Tensor

NORM_FACTOR = 2.0
"""How much larger than eager's the norm-wise error may be."""
TAIL_FACTOR = 4.0
"""Allowance of a single element over the typical error of its kind."""
LIKE = 1024
"""Elements of like magnitude that an envelope is taken over, at least."""

_ZERO_BIN = 0
_OFFSET = 1100
_BINS = 2 * _OFFSET + 2


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


def norm_limit(oracle: Tensor, eager_error: Tensor, moved: Tensor, unit: float, factor: float) -> float:
    """The largest Euclidean norm that `k - o` may have. All are float64 and finite, of one shape."""
    floor = torch.linalg.vector_norm(oracle.abs() * unit + moved)
    eager = torch.linalg.vector_norm(eager_error)
    return max(NORM_FACTOR * float(eager), factor * float(floor))


def element_limit(
    oracle: Tensor, eager_error: Tensor, moved: Tensor, dtype: torch.dtype, factor: float
) -> Tensor:
    """The largest `|k_i - o_i|` for each element, float64; the arguments are flat, finite float64."""
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    scale = oracle.abs().mul_(roundoff(dtype)).add_(moved).add_(smallest)
    return scale.mul_(factor).add_(envelope(oracle, eager_error)).mul_(TAIL_FACTOR)


def envelope(values: Tensor, errors: Tensor, like: int = LIKE) -> Tensor:
    """For each of `values`, the largest of `errors` among at least `like` values of like magnitude.

    Values are put into bins by binary exponent; a bin looks at its neighbours, and further ones
    until it has seen `like` values. Zeros stand alone: an exact zero borrows no error from others.
    """
    bins = magnitude_bins(values)
    counts = torch.bincount(bins, minlength=_BINS)
    peaks = torch.zeros(_BINS, dtype=torch.float64, device=values.device)
    peaks.scatter_reduce_(0, bins, errors.abs(), "amax")
    table = _widened(counts.tolist(), peaks.tolist(), like)
    return torch.tensor(table, dtype=torch.float64, device=values.device)[bins]


def magnitude_bins(values: Tensor) -> Tensor:
    """Bin number of each value: 0 for zeros, else its binary exponent shifted to be positive."""
    exponents = torch.frexp(values).exponent.long() + _OFFSET
    return torch.where(values == 0, _ZERO_BIN, exponents)


def _widened(counts: list[int], peaks: list[float], like: int) -> list[float]:
    """The peak over a window of occupied bins around each, wide enough to hold `like` values."""
    table = list(peaks)
    occupied = [index for index, count in enumerate(counts) if count and index != _ZERO_BIN]
    for place, index in enumerate(occupied):
        reach = 1
        while True:
            window = occupied[max(place - reach, 0) : place + reach + 1]
            if len(window) == len(occupied) or sum(counts[bin_] for bin_ in window) >= like:
                break
            reach += 1
        table[index] = max(peaks[bin_] for bin_ in window)
    return table
