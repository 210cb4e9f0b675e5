"""What the decompositions of every family use: element types, dimensions, and the table they enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensor = torch.Tensor
Result = Any
"""A tensor: what calls into `torch.ops` return is not typed."""
aten: Any = torch.ops.aten


class Table(dict[Any, Callable[..., Any]]):
    """Operation to the function that says it in smaller ones."""

    def of(self, *ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enter the decorated function for these operations."""

        def enter(function: Callable[..., Any]) -> Callable[..., Any]:
            self.update(dict.fromkeys(ops, function))
            return function

        return enter


def widened(x: Tensor) -> Tensor:
    """float16 and bfloat16 as float32, in which eager computes too; others as they are."""
    return aten._to_copy.default(x, dtype=torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def like(x: Tensor, dtype: torch.dtype) -> Tensor:
    """`x` in another element type."""
    return x if x.dtype == dtype else aten._to_copy.default(x, dtype=dtype)


def dims_of(x: Tensor, dims: int | Sequence[int] | None) -> list[int]:
    """`dims` counted from the front; all of them for None or none."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(x.dim()))
    listed = [dims] if isinstance(dims, int) else dims
    return sorted(dim % max(x.dim(), 1) for dim in listed) if x.dim() else []


def moments(x: Tensor, dims: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and biased variance over `dims` (kept as size 1), and the deviations: two passes."""
    mean = aten.mean.dim(x, dims, True)
    deviation = aten.sub.Tensor(x, mean)
    return mean, aten.mean.dim(aten.mul.Tensor(deviation, deviation), dims, True), deviation


def unbiased(variance: Tensor, count: int, lost: float) -> Result:
    """A biased variance of `count` elements with `lost` degrees of freedom less.

    The number of elements stands in the graph as it is, so that it can be told to be one.
    """
    if not lost:
        return variance
    total = aten.full.default([], count, dtype=variance.dtype, device=variance.device)
    left = count - int(lost) if lost == int(lost) else count - lost
    return aten.mul.Tensor(variance, aten.div.Tensor(total, max(left, 0)))
