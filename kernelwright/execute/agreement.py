"""Whether two results are of one function: their values, as a whole, far more loosely than a contract judges.

    agree(found, wanted, tolerance_of(problem))

This tells another function from rounding. Not covered: how exact a kernel is; the gates of `verify` say that.
"""

from __future__ import annotations

import torch

from kernelwright.core.problem import Problem


def tolerance_of(problem: Problem) -> float:
    """The cube root of the coarsest step among the types that the problem computes in or returns.

    A share of the norm where numbers are compared, of the elements where they are counted: 0.005 in float32,
    0.2 in bfloat16.
    """
    kinds = [
        getattr(torch, name) for name in (*problem.float_types, *(spec.dtype for spec in problem.outputs))
    ]
    steps = [torch.finfo(kind).eps for kind in kinds if kind.is_floating_point]
    return float(max(steps, default=torch.finfo(torch.float32).eps) ** (1 / 3))


def agree(found: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> bool:
    """Whether two tensors of the same shape and type hold about the same."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if found.numel() == 0:
        return True
    if not (found.is_floating_point() or found.is_complex()):
        return _share(found != wanted) <= tolerance
    a, b = _wide(found), _wide(wanted)
    finite = torch.isfinite(b)
    if _share(torch.isfinite(a) != finite) > tolerance:
        return False
    finite &= torch.isfinite(a)
    return _norm(torch.where(finite, a - b, 0)) <= tolerance * _norm(torch.where(finite, b, 0))


def _share(which: torch.Tensor) -> float:
    return float(which.count_nonzero()) / which.numel()


def _norm(tensor: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor.abs(), dtype=torch.float64))


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_complex() or tensor.dtype == torch.float64 else tensor.float()
