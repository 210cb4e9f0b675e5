"""Intervals for medians and for ratios of paired times.

A *pair* is a kernel's and a baseline's time taken within one round, so that drift meets both. What
is estimated is the median of `log(baseline / kernel)`. The *replicate* is the process: two processes
lay the same tensors out on different pages, and no number of samples within one process shows
that. An interval is therefore made of two parts:

- within a process: a circular block bootstrap over time (Politis & Romano 1992), with blocks of
  `n^(1/3)` samples, so that neighbours that resemble each other are drawn together, widened as
  Student's t is for few blocks;
- between processes: the variance of the process medians beyond what the first part explains,
  moderated towards a prior worth `PRIOR_DOF` processes (a scaled inverse chi-square prior, as in
  the moderated t statistic of Smyth 2004). With one process the prior alone speaks, so that an
  interval from a single process is never narrower than processes differ.

Not covered: errors common to all processes of a machine (its page size, its clock rate).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PRIOR_SIGMA = 0.006
"""Standard deviation between processes of a log-ratio, before any has been seen.

An assumption, to be checked against what `benchmarks/aa.py` prints for worker pairs on a quiet machine.
"""
PRIOR_DOF = 8.0
"""How many processes the prior is worth."""
RESAMPLES = 500
"""Bootstrap resamples; each is used twice, with the between-process term added and subtracted."""

Floats = npt.NDArray[np.float64]
Samples = Sequence[Sequence[float]]
"""Times in microseconds, by replicate, in the order they were taken."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Baseline time over kernel time, with its interval at 95 %."""

    ratio: float
    low: float
    high: float
    within: float
    """Half-width, as a share of the ratio, that more samples of the same processes could still narrow."""


def paired_ratio(baseline: Samples, kernel: Samples, *, seed: int = 0, sigma: float = PRIOR_SIGMA) -> Ratio:
    """Ratio of paired times with its interval.

    `baseline[r][i]` and `kernel[r][i]` are the two times of round `i` of process `r`. Scaling both
    sides changes nothing; swapping them inverts the result. ValueError where a replicate is empty,
    unpaired or has times that are not positive.
    """
    logs = [np.log(_positive(b)) - np.log(_positive(k)) for b, k in zip(baseline, kernel, strict=True)]
    rng = np.random.default_rng(seed)
    medians = np.array([np.median(replicate) for replicate in logs])
    drawn = np.stack([_block_medians(replicate, rng) for replicate in logs])
    center = float(medians.mean())
    spread = between_sigma(medians, drawn.var(axis=1), sigma)
    dof = PRIOR_DOF + len(logs) - 1
    between = rng.standard_t(dof, RESAMPLES) * spread / math.sqrt(len(logs))
    within = center + _small_sample(logs) * (drawn.mean(axis=0) - center)
    both = np.concatenate([within + between, within - between])
    low, high = np.quantile(both, [0.025, 0.975])
    inner_low, inner_high = np.quantile(within, [0.025, 0.975])
    return Ratio(
        ratio=math.exp(center),
        low=math.exp(min(low, center)),
        high=math.exp(max(high, center)),
        within=float(inner_high - inner_low) / 2,
    )


def between_sigma(medians: Floats, within: Floats, sigma: float = PRIOR_SIGMA) -> float:
    """Standard deviation between processes, moderated towards `sigma`.

    `medians` are the processes' medians of the log-ratio and `within` their bootstrap variances.
    """
    extra = len(medians) - 1
    if extra == 0:
        return sigma
    seen = max(0.0, float(medians.var(ddof=1)) - float(within.mean()))
    return math.sqrt((PRIOR_DOF * sigma**2 + extra * seen) / (PRIOR_DOF + extra))


def median_interval(samples: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Distribution-free interval of a median from order statistics (binomial, p = 1/2).

    Below six samples no such interval reaches 95 %; the range of the samples is returned.
    """
    ordered = np.sort(_positive(samples))
    count = len(ordered)
    tail, rank = 0.0, 0
    while rank < count // 2:
        tail += math.comb(count, rank) / 2**count
        if tail > (1 - confidence) / 2:
            break
        rank += 1
    edge = max(rank - 1, 0)
    return float(ordered[edge]), float(ordered[count - 1 - edge])


def median(samples: Sequence[float]) -> float:
    """The median of times in microseconds."""
    return float(np.median(_positive(samples)))


def _block_medians(values: Floats, rng: np.random.Generator) -> Floats:
    count = len(values)
    length = _block_length(count)
    starts = rng.integers(0, count, size=(RESAMPLES, -(-count // length)))
    index = (starts[:, :, None] + np.arange(length)) % count
    return np.asarray(np.median(values[index.reshape(RESAMPLES, -1)[:, :count]], axis=1))


def _small_sample(logs: Sequence[Floats]) -> float:
    """Widening for few blocks: Student's t over the normal quantile (Fisher's expansion)."""
    blocks = sum(len(values) / _block_length(len(values)) for values in logs)
    dof, z = max(blocks - len(logs), 1.0), 1.96
    t = z + (z**3 + z) / (4 * dof) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * dof**2)
    return t / z * math.sqrt(1 + 1 / dof)


def _block_length(count: int) -> int:
    return max(1, round(math.exp(math.log(count) / 3)))


def _positive(samples: Sequence[float]) -> Floats:
    values = np.asarray(samples, dtype=np.float64)
    if values.size == 0 or not np.all(np.isfinite(values)) or float(values.min()) <= 0:
        raise ValueError(
            f"times must be positive and finite, and there must be some; got {list(samples)[:3]}"
        )
    return values
