"""The fixed set of baselines by target, which of them apply, and which are the strongest.

Every kernel is compared with the strongest of one fixed set, so that nobody chooses a weak opponent.
A quick pass times all that can be made; the strongest few go on into the paired measurement. All are
named and reported: those that cannot be made, or cannot be compared under the clock in use, with the
reason. How a baseline is made callable is `execute.baselines`.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.core.measurement import Timing
from kernelwright.core.problem import Problem
from kernelwright.core.target import TargetName
from kernelwright.execute.sizes import is_large
from kernelwright.measure.schedule import Schedule
from kernelwright.measure.statistics import median, median_interval
from kernelwright.measure.stopwatch import ClockName, Stopwatch

BASELINES: dict[TargetName, tuple[str, ...]] = {
    "cpu": ("eager", "compile", "compile_max_autotune", "channels_last"),
    "cuda": (
        "eager",
        "compile",
        "compile_max_autotune",
        "compile_max_autotune_no_cudagraphs",
        "compile_reduce_overhead",
        "eager_graph",
        "cudnn_benchmark",
        "channels_last",
    ),
}
"""Names, `eager` first."""

OWN_GRAPHS = frozenset({"compile_max_autotune", "compile_reduce_overhead"})
"""Baselines that replay CUDA graphs of their own, and so cannot be captured into another."""
OWN_GRAPHS_REASON = "it replays graphs of its own, which cannot be captured; its kernels compete without them"

OTHER_INPUTS_REASON = (
    "its graphs hold addresses, and each window has its inputs at new ones; its kernels compete without them"
)

HELD_BY_GRAPHS_REASON = (
    "its graphs would keep copies of gigabytes of inputs and outputs, and calls this long gain nothing from "
    "replay; its kernels compete without them"
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One baseline in the quick pass."""

    name: str
    timing: Timing | None
    """`None` where it was not timed."""
    reason: str | None = None
    """Why it was not."""


def applicable(problem: Problem, target: TargetName, clock: ClockName) -> dict[str, str | None]:
    """Each baseline of the target, with the reason why it does not apply, or None where it does."""
    return {name: _unfit(name, problem, clock) for name in BASELINES[target]}


def rank(
    stopwatch: Stopwatch,
    names: Sequence[str],
    slots: Sequence[str],
    *,
    rounds: int = 5,
    rng: random.Random | None = None,
) -> tuple[Ranked, ...]:
    """Time these baselines, which must be ready, in a few interleaved rounds; the fastest first."""
    if not names:
        return ()
    stopwatch.warm(names, slots, 1)
    taken = stopwatch.block(Schedule(names, slots, rng or random.Random(secrets.randbits(64))).take(rounds))
    found = [_ranked(name, [times[name] for times in taken]) for name in names]
    return tuple(sorted(found, key=lambda one: one.timing.latency_us if one.timing else 0.0))


def strongest(ranked: Sequence[Ranked], keep: int = 3, within: float = 1.5) -> list[str]:
    """Names of the `keep` fastest, without those more than `within` times slower than the fastest."""
    timed = [(one.timing.latency_us, one.name) for one in ranked if one.timing is not None]
    if not timed:
        return []
    limit = min(timed)[0] * within
    return [name for us, name in sorted(timed)[:keep] if us <= limit]


def _ranked(name: str, samples: list[float]) -> Ranked:
    timing = Timing(
        name=name, latency_us=median(samples), ci=median_interval(samples), samples_us=(tuple(samples),)
    )
    return Ranked(name, timing)


def _unfit(name: str, problem: Problem, clock: ClockName) -> str | None:
    if name == "channels_last" and not any(len(spec.shape) == 4 for spec in problem.inputs):
        return "no input has four dimensions"
    if name == "cudnn_benchmark" and not _may_convolve(problem):
        return "nothing in it can be a convolution"
    if clock == "replay" and name in OWN_GRAPHS:
        return OWN_GRAPHS_REASON
    if clock == "window" and name in (*OWN_GRAPHS, "eager_graph"):
        return OTHER_INPUTS_REASON
    graphed = clock != "outside" and name in (*OWN_GRAPHS, "eager_graph")
    if graphed and is_large(problem, problem.base):
        return HELD_BY_GRAPHS_REASON
    return None


def _may_convolve(problem: Problem) -> bool:
    weighs = any(len(spec.shape) >= 3 for spec in problem.weights)
    return weighs or "conv" in problem.normalized.casefold()
