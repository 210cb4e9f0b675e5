"""Kernels put back into whole models, in place. See `docs/design/in-place.md`."""

from kernelwright.integrate.diagnosis import ModelDiagnosis, diagnose_model
from kernelwright.integrate.installation import Installation
from kernelwright.integrate.model import optimize_model

__all__ = ["Installation", "ModelDiagnosis", "diagnose_model", "optimize_model"]
