"""Kernels put back into whole models, in place. See `docs/design/in-place.md`."""

from kernelwright.integrate.installation import Installation
from kernelwright.integrate.model import optimize_model

__all__ = ["Installation", "optimize_model"]
