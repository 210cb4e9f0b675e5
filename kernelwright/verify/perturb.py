"""Inputs moved by some roundoffs: how far an oracle follows is the condition that the contract measures.

Not covered: by how many, and how many draws are taken (`truth`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

PERIOD = 1_000_003
"""Length of the sign pattern of a perturbation."""


def perturbed(tensor: Any, unit: float, generator: torch.Generator) -> Any:
    """`tensor` in float64 with every element multiplied by 1 + unit or 1 - unit; others as they are.

    A negative unit moves each element the other way than the same positive one, from the same state of the
    generator. Signs repeat after a prime number of elements, so that they line up with no row length.
    """
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        return tensor
    wide = tensor.detach().to(torch.float64, copy=True, memory_format=torch.contiguous_format)
    flat = wide.view(-1)
    factors = torch.empty(min(PERIOD, flat.numel()), dtype=torch.float64, device=flat.device)
    factors.bernoulli_(0.5, generator=generator).mul_(2 * unit).add_(1 - unit)
    for start in range(0, flat.numel(), PERIOD):
        flat[start : start + PERIOD].mul_(factors[: flat.numel() - start])
    return wide
