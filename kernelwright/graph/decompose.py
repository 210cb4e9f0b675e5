"""How composite operations become pointwise operations, reductions and views.

torch's own table is the base. The entries here take further what core ATen keeps whole (norms,
softmax, activations), in forms that are at least as precise as eager: variance in two passes,
float16 and bfloat16 statistics in float32. `mean.dim` stays an operation: its divisor is a size,
and a literal would tie a kernel to it. Not covered: pooling, products, convolutions, sorting,
gathers and losses that gather stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kernelwright.graph.decompose_norms import NORMS
from kernelwright.graph.decompose_pointwise import POINTWISE
from kernelwright.graph.decompose_reductions import REDUCTIONS


def decompositions() -> dict[Any, Callable[..., Any]]:
    """torch's core ATen table with our entries over it, as a dictionary that the caller may change."""
    return dict(_table())


@lru_cache(maxsize=1)
def _table() -> dict[Any, Callable[..., Any]]:
    from torch.export import default_decompositions

    defaults: Any = default_decompositions()
    return {**dict(defaults.items()), **NORMS, **POINTWISE, **REDUCTIONS}
