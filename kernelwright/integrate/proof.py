"""Whether a model with kernels in it still computes what it did, and whether it is faster as a whole.

    rows = compared(model, installation, batches)       # "" in `why` of each: within the rule
    timed(model, installation, batches, "cpu").speedups # over eager and compiled models, with intervals

Results are compared by the norm-wise rule of the precision contract: no farther from the model in float64
than twice the original is, or than ten roundoffs. Where the model does not run in float64, with the original
alone, and it is said. Times are of whole calls in this process, subjects interleaved in random order, batch
by batch.

Not covered: fresh processes as replicates (an interval has the part that processes differ by from a prior, as
`measure.statistics` says), and hostile models: this is the user's own.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from kernelwright.core.errors import UsageError, boundary
from kernelwright.core.measurement import Interval, Speedup, Status
from kernelwright.execute.agreement import agree
from kernelwright.execute.baselines import Baseline, BaselineUnavailable, make_baseline
from kernelwright.integrate.batch import Batch
from kernelwright.integrate.installation import Installation
from kernelwright.integrate.tensors import tensors_in, wait_for_device
from kernelwright.measure.baselines import BASELINES
from kernelwright.measure.disturbance import disturbance, ticks
from kernelwright.measure.statistics import Ratio, median, paired_ratio
from kernelwright.measure.status import status_of
from kernelwright.measure.stopping import Rule
from kernelwright.verify.bounds import Counts, norm_limit, roundoff

RULE = Rule("model", min_rounds=18, max_rounds=90, max_seconds=30.0, half_width=0.005)
"""When sampling of the whole ends."""
UNCOUNTED = Counts(reduction=1, roundings=64)
"""Counts of a model that is not captured: the original's own error has to carry the bound."""
KERNELS = "kernels"
"""Subject: the model with kernels in it."""


@dataclass(frozen=True)
class Compared:
    """One result of one batch."""

    batch: int
    result: int
    """Number among the tensors that the model returns."""
    relative_error: float | None
    """In Euclidean norm, of the model with kernels, from the model in float64; None where it does not run."""
    original_error: float | None
    """The same of the original."""
    why: str
    """What is wrong, or nothing."""


@dataclass(frozen=True)
class Timed:
    """Times of whole calls."""

    latency_us: dict[str, float]
    """Median by subject."""
    speedups: tuple[Speedup, ...]
    """Of the model with kernels over each baseline."""
    status: Status
    unavailable: dict[str, str]
    """Baselines that could not be made, with the reason."""
    stopping: str
    disturbed: str
    """What else used the processors meanwhile, in words; empty where it was quiet."""

    @property
    def strongest(self) -> Speedup:
        """Over the baseline that it beats the least."""
        return min(self.speedups, key=lambda speedup: speedup.ratio)

    def over(self, baseline: str) -> Interval:
        """Interval of the speed-up over one baseline."""
        return next(each.ci for each in self.speedups if each.baseline == baseline)


def compared(model: nn.Module, installed: Installation, batches: Sequence[Batch]) -> list[Compared]:
    """Results with kernels and without, for every batch."""
    rows: list[Compared] = []
    with installed.removed():
        wide = _wide_twin(model)
    for number, batch in enumerate(batches):
        batch.run(model)  # guards have the original answer calls of a new form
        found = tensors_in(batch.run(model))
        with installed.removed():
            wanted = tensors_in(batch.run(model))
        exact = _exact(wide, batch)
        if not wanted:
            rows.append(Compared(number, 0, None, None, "no tensor is found in what the model returns"))
        rows += [
            _row(number, at, a, b, exact[at] if exact else None)
            for at, (a, b) in enumerate(zip(found, wanted, strict=True))
        ]
    return rows


def timed(model: nn.Module, installed: Installation, batches: Sequence[Batch], device: str) -> Timed:
    """Whole calls with kernels, beside all baselines that can be made."""
    with installed.removed():
        baselines, unavailable = _baselines(model, batches, device)
    samples: dict[str, list[float]] = {KERNELS: [], **{name: [] for name in baselines}}
    rng, begun, before = random.Random(0), time.perf_counter(), ticks([])
    reason, ratios = None, dict[str, Ratio]()
    while reason is None:
        for _ in range(RULE.block_rounds):
            _round(model, installed, batches, baselines, samples, rng)
        ratios = {name: paired_ratio([samples[name]], [samples[KERNELS]]) for name in baselines}
        rounds = len(samples[KERNELS])
        reason = RULE.reason(rounds, time.perf_counter() - begun, list(ratios.values()))
    speedups = tuple(_speedup(name, ratio) for name, ratio in ratios.items())
    latency = {name: median(taken) for name, taken in samples.items()}
    stopping = RULE.describe(reason, len(samples[KERNELS]))
    disturbed = disturbance(before, ticks([])).words()
    return Timed(latency, speedups, status_of(speedups), unavailable, stopping, disturbed)


def _round(
    model: nn.Module,
    installed: Installation,
    batches: Sequence[Batch],
    baselines: dict[str, Baseline],
    samples: dict[str, list[float]],
    rng: random.Random,
) -> None:
    """One call of every subject on one batch, in random order."""
    batch = batches[len(samples[KERNELS]) % len(batches)]
    for name in rng.sample(list(samples), len(samples)):
        if name == KERNELS:
            samples[name].append(_us(lambda: batch.run(model)))
            continue
        with installed.removed(), torch.no_grad():
            samples[name].append(_us(lambda name=name: baselines[name](batch.flat())))  # type: ignore[misc]


def _us(call: Callable[[], object]) -> float:
    wait_for_device()
    begun = time.perf_counter()
    call()
    wait_for_device()
    return (time.perf_counter() - begun) * 1e6


def _baselines(
    model: nn.Module, batches: Sequence[Batch], device: str
) -> tuple[dict[str, Baseline], dict[str, str]]:
    """The target's baselines of the whole model, warmed up on every batch, and why others are missing."""
    made, unavailable = {}, {}
    taking, first = batches[0].taking(model), batches[0].flat()
    for name in BASELINES[device]:  # type: ignore[index]
        try:
            # Compilers mark the module that they are given, and this one is the user's.
            given = taking if batches[0].kwargs or name.startswith("compile") else model
            made[name] = make_baseline(name, given, first, device)
        except BaselineUnavailable as error:
            unavailable[name] = str(error)
            continue
        with torch.no_grad():
            for batch in batches:
                made[name](batch.flat())
    return made, unavailable


def _speedup(name: str, ratio: Ratio) -> Speedup:
    return Speedup(baseline=name, ratio=ratio.ratio, ci=(ratio.low, ratio.high))


def _wide_twin(model: nn.Module) -> nn.Module | None:
    """The model in float64, or None where it cannot be copied so."""
    try:
        with boundary(UsageError, "the model has no twin in float64"):
            return copy.deepcopy(model).double()
    except UsageError:
        return None


def _exact(wide: nn.Module | None, batch: Batch) -> list[torch.Tensor] | None:
    """Results in float64, or None where the model does not compute in it throughout."""
    if wide is None:
        return None
    try:
        with boundary(UsageError, "the model does not run in float64"):
            found = tensors_in(batch.wide().run(wide))
    except UsageError:
        return None
    floating = [each for each in found if each.is_floating_point()]
    return found if all(each.dtype == torch.float64 for each in floating) else None


def _row(
    batch: int, at: int, found: torch.Tensor, wanted: torch.Tensor, exact: torch.Tensor | None
) -> Compared:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return Compared(batch, at, None, None, f"is {found.dtype}{list(found.shape)} where it was another")
    if not found.is_floating_point():
        same = torch.equal(found, wanted) or (exact is not None and torch.equal(found, exact.to(found.dtype)))
        return Compared(batch, at, None, None, "" if same else "integers differ from the original's")
    if exact is None:
        near = agree(found, wanted, float(torch.finfo(found.dtype).eps) ** (1 / 3))
        return Compared(batch, at, None, None, "" if near else "it is far from the original's")
    return _by_norm(batch, at, found.double(), wanted.double(), exact, roundoff(wanted.dtype))


def _by_norm(
    batch: int, at: int, found: torch.Tensor, wanted: torch.Tensor, exact: torch.Tensor, unit: float
) -> Compared:
    finite = torch.isfinite(exact) & torch.isfinite(wanted)
    if bool((torch.isfinite(found) != torch.isfinite(wanted))[finite].any()):
        return Compared(batch, at, None, None, "elements are not finite that were so")
    scale, error, own = (
        float(torch.linalg.vector_norm(torch.where(finite, each, 0.0)))
        for each in (exact, found - exact, wanted - exact)
    )
    limit = norm_limit(own, unit * scale, UNCOUNTED.factor)
    why = "" if error <= limit else f"its error is {error / limit:.3g} times what is allowed"
    return Compared(batch, at, error / scale if scale else 0.0, own / scale if scale else 0.0, why)
