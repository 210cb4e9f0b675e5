"""What the reference should give on some arguments: its oracle in float64, and how far that moves.

    exact, moved = truth(yardstick, args, weights, eager, seed)

Where the yardstick has `rows`, the float64 values of inputs and of perturbed runs exist for some rows at a
time; what stays is one float64 and one float32 of each result's size. Without, everything exists at once:
about ten times the inputs of a pointwise function of float32.

Not covered: eager itself, and what is made of the three (`expectation`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.graph.oracle import Oracle
from kernelwright.verify.bounds import TAIL_FACTOR, Counts, roundoff
from kernelwright.verify.expectation import Spread, tolerance_type
from kernelwright.verify.perturb import perturbed
from kernelwright.verify.rows import Rows

JITTER = 2.0**-52
"""Relative change of every value on the way: what float64 itself may lose there."""
MANY = 16
"""Pairs of perturbations where the oracle is no finer than what is judged."""
LARGEST_STEP = 2.0**-10
"""Largest relative perturbation: what is measured is the first order."""

Weights = Mapping[str, Tensor]
Move = tuple[float, float]
"""A relative perturbation, and how many roundoffs it is."""
Truth = tuple[list[Tensor], list[Tensor | None]]
"""Oracle and spread of each result; no spread where it is not floating."""


@dataclass
class Yardstick:
    """What is made once per problem and sizes: the oracle, and the counts behind the factor."""

    oracle: Oracle
    counts: Counts
    rows: Rows | None = None
    """How to run it over some rows at a time; only where memory is short."""


def truth(
    yardstick: Yardstick, args: Sequence[Any], weights: Weights, eager: Sequence[Tensor], seed: int
) -> Truth:
    """Oracle and spread on these arguments. `eager` are the reference's results, `seed` its generator's."""
    moves = _moves(_finest(args, weights, eager), yardstick.counts.factor)
    if yardstick.rows is None:
        return _block(yardstick.oracle, args, weights, moves, seed)
    return _by_rows(yardstick.rows, args, weights, eager, moves, seed)


def _moves(unit: float, factor: float) -> list[Move]:
    """A pair of one roundoff, and a pair of as many as an element's tolerance is wide.

    In float64 many of one: in two, neighbours that cancel may happen to move together, and there eager's own
    error does not show what was missed.
    """
    steps = max(1.0, min(TAIL_FACTOR * factor, LARGEST_STEP / unit)) if unit else 1.0
    blunt = 0.0 < unit <= roundoff(torch.float64)
    return [(unit, 1.0)] * (MANY if blunt else 1) + [(steps * unit, steps)]


def seeded(seed: int, run: Callable[[], list[Tensor]]) -> list[Tensor]:
    """Run with torch's generators at `seed`: whatever draws, draws the same each time."""
    torch.manual_seed(seed)
    with torch.no_grad():
        return run()


def _by_rows(
    rows: Rows,
    args: Sequence[Any],
    weights: Weights,
    eager: Sequence[Tensor],
    moves: Sequence[Move],
    seed: int,
) -> Truth:
    exact = [torch.empty(out.shape, dtype=_wide(out.dtype), device=out.device) for out in eager]
    moved = [
        torch.empty(out.shape, dtype=tolerance_type(out.dtype), device=out.device)
        if out.is_floating_point()
        else None
        for out in eager
    ]
    for part in rows.parts():
        near, spread = _block(rows.oracle(part), rows.cut(args, part), weights, moves, seed)
        for whole, some in zip(exact, near, strict=True):
            whole[part] = some
        for kept, new in zip(moved, spread, strict=True):
            if kept is not None and new is not None:
                kept[part] = new.clamp_(max=torch.finfo(kept.dtype).max)
    return exact, moved


def _block(oracle: Oracle, args: Sequence[Any], weights: Weights, moves: Sequence[Move], seed: int) -> Truth:
    """Each move is made in both directions: where a function has a kink, one of the two is seen."""
    exact = seeded(seed, lambda: oracle(args, weights))
    spread = Spread(exact)
    generator = torch.Generator(device=exact[0].device).manual_seed(torch.seed() % (1 << 62))
    for unit, steps in moves:
        state = generator.get_state()
        for way in (unit, -unit):
            generator.set_state(state)
            spread.add(_moved(oracle, args, weights, way, generator, seed), steps)
    return exact, spread.result()


def _moved(
    oracle: Oracle, args: Sequence[Any], weights: Weights, unit: float, generator: torch.Generator, seed: int
) -> list[Tensor]:
    """The oracle's results on perturbed inputs and weights, which are gone when it returns."""
    near = pytree.tree_map(lambda value: perturbed(value, unit, generator), list(args))
    near_weights = {name: perturbed(value, unit, generator) for name, value in weights.items()}
    return seeded(seed, lambda: oracle(near, near_weights, math.copysign(JITTER, unit)))


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype.is_floating_point else dtype


def _finest(args: Sequence[Any], weights: Weights, eager: Sequence[Tensor]) -> float:
    tensors = [*pytree.tree_leaves(list(args)), *weights.values(), *eager]
    return min(
        (roundoff(each.dtype) for each in tensors if isinstance(each, Tensor) and each.is_floating_point()),
        default=0.0,
    )
