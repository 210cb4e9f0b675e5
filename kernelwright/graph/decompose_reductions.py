"""Softmax, variance, extremes and vector norms in terms of sums, means and extremes over dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from kernelwright.graph.decompose_base import (
    Result,
    Table,
    Tensor,
    aten,
    dims_of,
    like,
    moments,
    unbiased,
    widened,
)

REDUCTIONS = Table()


@REDUCTIONS.of(aten._softmax.default)
def _softmax(x: Tensor, dim: int, half_to_float: bool) -> Result:
    if x.numel() == 0:
        return aten.clone.default(x)
    powers = aten.exp.default(_shifted(x, dim))
    y = aten.div.Tensor(powers, aten.sum.dim_IntList(powers, dims_of(x, dim), True))
    return y if half_to_float else like(y, x.dtype)


@REDUCTIONS.of(aten._log_softmax.default)
def _log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Result:
    if x.numel() == 0:
        return aten.clone.default(x)
    shifted = _shifted(x, dim)
    total = aten.sum.dim_IntList(aten.exp.default(shifted), dims_of(x, dim), True)
    y = aten.sub.Tensor(shifted, aten.log.default(total))
    return y if half_to_float else like(y, x.dtype)


def _shifted(x: Tensor, dim: int) -> Result:
    wide = widened(x)
    return aten.sub.Tensor(wide, aten.amax.default(wide, dims_of(x, dim), True))


@REDUCTIONS.of(aten.var.correction)
def _var(
    x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = 1, keepdim: bool = False
) -> Any:
    if x.is_complex() or x.dim() == 0:
        return NotImplemented
    dims = dims_of(x, dim)
    _, variance, _ = moments(widened(x), dims)
    count = math.prod(x.shape[d] for d in dims)
    variance = unbiased(variance, count, 1 if correction is None else correction)
    return like(variance if keepdim else aten.squeeze.dims(variance, dims), x.dtype)


@REDUCTIONS.of(aten.var_mean.correction)
def _var_mean(
    x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = 1, keepdim: bool = False
) -> Any:
    if x.is_complex() or x.dim() == 0:
        return NotImplemented
    variance = _var(x, dim, correction=correction, keepdim=keepdim)
    return variance, like(aten.mean.dim(widened(x), dims_of(x, dim), keepdim), x.dtype)


@REDUCTIONS.of(aten.mean.default)
def _mean(x: Tensor, *, dtype: torch.dtype | None = None) -> Result:
    return aten.mean.dim(x if dtype is None else like(x, dtype), dims_of(x, None), False)


@REDUCTIONS.of(aten.sum.default)
def _sum(x: Tensor, *, dtype: torch.dtype | None = None) -> Any:
    if x.dim() == 0:
        return NotImplemented
    return aten.sum.dim_IntList(x, dims_of(x, None), False, dtype=dtype)


@REDUCTIONS.of(aten.max.default)
def _max(x: Tensor) -> Result:
    return aten.amax.default(x, dims_of(x, None), False)


@REDUCTIONS.of(aten.min.default)
def _min(x: Tensor) -> Result:
    return aten.amin.default(x, dims_of(x, None), False)


@REDUCTIONS.of(aten.max.dim)
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Values and indices apart, so that whichever is not read disappears."""
    if x.dim() == 0:
        return NotImplemented
    return aten.amax.default(x, dims_of(x, dim), keepdim), aten.argmax.default(x, dim, keepdim)


@REDUCTIONS.of(aten.min.dim)
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    if x.dim() == 0:
        return NotImplemented
    return aten.amin.default(x, dims_of(x, dim), keepdim), aten.argmin.default(x, dim, keepdim)


@REDUCTIONS.of(aten.linalg_vector_norm.default)
def _vector_norm(
    x: Tensor,
    order: float = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    if x.is_complex() or x.dim() == 0 or order not in (1, 2, math.inf, -math.inf):
        return NotImplemented
    dims, kept = dims_of(x, dim), x.dtype if dtype is None else dtype
    wide = widened(like(x, kept))
    if order == 2:
        total = aten.sum.dim_IntList(aten.mul.Tensor(wide, wide), dims, keepdim)
        return like(aten.sqrt.default(total), kept)
    size = aten.abs.default(wide)
    if order == 1:
        return like(aten.sum.dim_IntList(size, dims, keepdim), kept)
    extreme = aten.amax if order > 0 else aten.amin
    return like(extreme.default(size, dims, keepdim), kept)
