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
        "cpp_row": f"{_AT}cpp_row:CppRow",
        "cpp_column": f"{_AT}cpp_column:CppColumn",
        "cpp_split": f"{_AT}cpp_split:CppSplit",
        "cpp_pointwise": f"{_AT}cpp_pointwise:CppPointwise",
        "cuda_row": f"{_AT}cuda_row:CudaRow",
        "cuda_column": f"{_AT}cuda_column:CudaColumn",
        "cuda_channel": f"{_AT}cuda_channel:CudaChannel",
        "cuda_pointwise": f"{_AT}cuda_pointwise:CudaPointwise",
    },
)
"""Templates in order of preference: the first that can serve a region is its default."""
