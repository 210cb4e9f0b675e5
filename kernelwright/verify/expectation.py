"""What one output of a problem should be, and how far a kernel may be from it.

Made once per draw in the process that holds the reference, and used for every kernel judged on
that draw: the oracle's values, eager's, the element-wise tolerance and the norm-wise limit.

Not covered: comparing (`judge`) and where the values come from (`compare`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def expect(name: str, eager: Tensor, oracle: Tensor, moved: Sequence[Tensor], factor: float) -> Expectation:
    """The expectation for one output.

    eager: the reference's output. oracle: float64 of the same shape. moved: the oracle's outputs on
    perturbed inputs and weights, float64. factor: `c` of the operation counts.
    """
    eager = eager.detach().contiguous()
    if not eager.is_floating_point():
        exact = oracle.detach().to(eager.dtype).contiguous()
        return Expectation(name, eager, exact, None, 0.0, 0.0, 0.0, 0)
    oracle = oracle.detach().to(torch.float64).contiguous()
    both = finite_in(oracle, eager.dtype) & torch.isfinite(eager)
    flat, error, spread = _finite(oracle, eager, moved, both)
    tolerance = element_limit(flat, error, spread, eager.dtype, factor).view(eager.shape)
    return Expectation(
        name=name,
        eager=eager,
        oracle=oracle,
        tolerance=tolerance if eager.dtype == torch.float64 else tolerance.to(torch.float32),
        limit=norm_limit(flat, error, spread, roundoff(eager.dtype), factor),
        eager_norm=float(torch.linalg.vector_norm(error)),
        oracle_norm=float(torch.linalg.vector_norm(flat)),
        eager_spurious=int((finite_in(oracle, eager.dtype) & ~torch.isfinite(eager)).sum()),
    )


def finite_in(oracle: Tensor, dtype: torch.dtype) -> Tensor:
    """Where the oracle is finite after rounding to `dtype`."""
    return torch.isfinite(oracle.to(dtype))


def _finite(
    oracle: Tensor, eager: Tensor, moved: Sequence[Tensor], both: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Centre, eager's error and spread as flat float64, with 0 error and spread where not finite.

    Where only one of oracle and eager is finite, that one is the centre: a kernel may do as either.
    """
    centre = torch.where(finite_in(oracle, eager.dtype), oracle, eager.double())
    centre = torch.where(torch.isfinite(centre), centre, 0.0).flatten()
    error = torch.where(both, eager.double() - oracle, 0.0).flatten()
    squares = torch.zeros_like(centre)
    for other in moved:
        difference = torch.where(both, other - oracle, 0.0).flatten()
        squares += torch.where(torch.isfinite(difference), difference, 0.0).square_()
    spread = squares.div_(max(len(moved), 1)).sqrt_()
    return centre, error, spread
