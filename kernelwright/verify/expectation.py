"""What one output of a problem should be, and how far a kernel may be from it.

Made once per draw in the process that holds the reference, and used for every kernel judged on
that draw: the oracle's values, eager's, the element-wise tolerance and the norm-wise limit.

Where only one of oracle and eager is finite, that one is the centre: a kernel may do as either.
Not covered: comparing (`judge`) and where the values come from (`compare`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kernelwright.verify.bounds import element_limit, norm_limit, roundoff


@dataclass(frozen=True)
class Expectation:
    """One output. `oracle`, `eager` and `tolerance` have the output's shape and are contiguous."""

    name: str
    eager: Tensor
    """In the output's own type."""
    oracle: Tensor
    """float64; for integers and booleans in the output's own type."""
    tolerance: Tensor | None
    """The largest distance from the centre (float32 to save room, unless the output is float64);
    None asks for equality."""
    limit: float
    """The largest norm of the error over all elements that are finite on both sides."""
    eager_norm: float
    """Norm of eager's own error."""
    oracle_norm: float
    eager_spurious: int
    """Elements where eager is not finite though the oracle, rounded to the type, is."""


def expect(name: str, eager: Tensor, oracle: Tensor, spread: Tensor | None, factor: float) -> Expectation:
    """The expectation for one output.

    eager: the reference's output. oracle: float64 of the same shape. spread: root mean square of how
    far the oracle moves under perturbation (`Spread`), float64 of the same shape; None for integers.
    factor: `c` of the operation counts.
    """
    eager = eager.detach().contiguous()
    if spread is None or not eager.is_floating_point():
        exact = oracle.detach().to(eager.dtype).contiguous()
        return Expectation(name, eager, exact, None, 0.0, 0.0, 0.0, 0)
    oracle = oracle.detach().to(torch.float64).contiguous()
    truly = finite_in(oracle, eager.dtype)
    both = truly & torch.isfinite(eager)
    centre = torch.where(truly, oracle, eager.double())
    centre = torch.where(torch.isfinite(centre), centre, 0.0).flatten()
    error = torch.where(both, eager.double() - oracle, 0.0).flatten()
    moved = torch.where(both, spread, 0.0).flatten()
    tolerance = element_limit(centre, error, moved, eager.dtype, factor).view(eager.shape)
    return Expectation(
        name=name,
        eager=eager,
        oracle=oracle,
        tolerance=tolerance if eager.dtype == torch.float64 else tolerance.to(torch.float32),
        limit=norm_limit(centre, error, moved, roundoff(eager.dtype), factor),
        eager_norm=float(torch.linalg.vector_norm(error)),
        oracle_norm=float(torch.linalg.vector_norm(centre)),
        eager_spurious=int((truly & ~torch.isfinite(eager)).sum()),
    )


def cut(whole: Expectation, first: int, size: int) -> Expectation:
    """The expectation of a contiguous piece: `size` bytes from byte `first` of the output.

    Judged element by element; the norm-wise limit of the whole output says nothing of a piece.
    """
    item = whole.eager.element_size()
    part = slice(first // item, (first + size) // item)
    return replace(
        whole,
        eager=whole.eager.view(-1)[part],
        oracle=whole.oracle.view(-1)[part],
        tolerance=None if whole.tolerance is None else whole.tolerance.view(-1)[part],
        limit=math.inf,
    )


class Spread:
    """Accumulates how far an oracle's outputs move when its inputs are perturbed."""

    def __init__(self, oracle: Sequence[Tensor]) -> None:
        self._oracle = list(oracle)
        self._squares = [torch.zeros_like(out) if out.is_floating_point() else None for out in oracle]
        self._draws = 0

    def add(self, moved: Sequence[Tensor]) -> None:
        """Outputs of the oracle on one perturbed draw. Where a difference is not finite it counts as none."""
        self._draws += 1
        for squares, other, exact in zip(self._squares, moved, self._oracle, strict=True):
            if squares is not None:
                difference = other.to(torch.float64) - exact
                squares += torch.where(torch.isfinite(difference), difference, 0.0).square_()

    def result(self) -> list[Tensor | None]:
        """Root mean square of the movement, for each output; None where it is not floating."""
        draws = max(self._draws, 1)
        return [None if squares is None else (squares / draws).sqrt_() for squares in self._squares]


def finite_in(oracle: Tensor, dtype: torch.dtype) -> Tensor:
    """Where the oracle is finite after rounding to `dtype`."""
    return torch.isfinite(oracle.to(dtype))
