"""From a problem to kernels: regions of the cut graph, a template for each, the product of their choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.core.registry import Registry

if TYPE_CHECKING:
    from kernelwright.propose.templates.base import Template

_AT = "kernelwright.propose.templates."

TEMPLATES: Registry[type[Template]] = Registry(
    "template",
    {
        "cpp_row": f"{_AT}cpp.row:CppRow",
        "cpp_column": f"{_AT}cpp.column:CppColumn",
        "cpp_split": f"{_AT}cpp.split:CppSplit",
        "cpp_pointwise": f"{_AT}cpp.pointwise:CppPointwise",
        "cuda_row": f"{_AT}cuda.row:CudaRow",
        "cuda_column": f"{_AT}cuda.column:CudaColumn",
        "cuda_channel": f"{_AT}cuda.channel:CudaChannel",
        "cuda_pointwise": f"{_AT}cuda.pointwise:CudaPointwise",
    },
)
"""Templates in order of preference: the first that can serve a region is its default."""
