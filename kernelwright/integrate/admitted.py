"""What cannot be optimized in place, said before any work."""

from __future__ import annotations

from typing import Any

from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.core.target import Target
from kernelwright.integrate.installation import ATTRIBUTE


def check_model(model: Any, target: Target) -> None:
    """UsageError for what is no model, holds kernels, is in train mode, or lies on another device."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"the model is a {type(model).__name__}; give an nn.Module, or use optimize")
    if getattr(vars(model).get(ATTRIBUTE), "guards", None):
        raise UsageError("the model holds kernels already; call model.kernelwright.undo() first")
    if model.training:
        raise UsageError("the model is in train mode, and kernels have no gradients; call model.eval() first")
    kind = "cpu" if target.name == "cpu" else "cuda"
    places = {tensor.device.type for tensor in (*model.parameters(), *model.buffers())}
    if places - {kind}:
        raise UsageError(
            f"the model is on {', '.join(sorted(places))} and the target is {target.name}; move it"
        )
