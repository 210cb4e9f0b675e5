"""Activations as arithmetic, and splits as slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernelwright.graph.decompose_base import Result, Table, Tensor, aten, like, widened

POINTWISE = Table()


@POINTWISE.of(aten.gelu.default)
def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    wide = widened(x)
    half = aten.mul.Tensor(wide, 0.5)
    if approximate == "tanh":
        cubic = aten.mul.Tensor(aten.mul.Tensor(aten.mul.Tensor(wide, wide), wide), 0.044715)
        inner = aten.mul.Tensor(aten.add.Tensor(wide, cubic), math.sqrt(2 / math.pi))
        gate = aten.tanh.default(inner)
    else:
        gate = aten.erf.default(aten.mul.Tensor(wide, math.sqrt(0.5)))
    return like(aten.mul.Tensor(half, aten.add.Tensor(gate, 1)), x.dtype)


@POINTWISE.of(aten.silu.default)
def _silu(x: Tensor) -> Tensor:
    wide = widened(x)
    return like(aten.mul.Tensor(wide, aten.sigmoid.default(wide)), x.dtype)


@POINTWISE.of(aten.leaky_relu.default)
def _leaky_relu(x: Tensor, slope: float = 0.01) -> Result:
    return aten.where.self(aten.gt.Scalar(x, 0), x, aten.mul.Tensor(x, slope))


@POINTWISE.of(aten.elu.default)
def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    wide = widened(x)
    negative = aten.mul.Tensor(aten.expm1.default(aten.mul.Tensor(wide, input_scale)), alpha * scale)
    return like(aten.where.self(aten.gt.Scalar(wide, 0), aten.mul.Tensor(wide, scale), negative), x.dtype)


@POINTWISE.of(aten.hardtanh.default)
def _hardtanh(x: Tensor, low: float = -1, high: float = 1) -> Result:
    return aten.clamp.default(x, low, high)


@POINTWISE.of(aten.split_with_sizes.default)
def _split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [aten.slice.Tensor(x, dim, start, start + size) for start, size in zip(starts, sizes, strict=True)]


@POINTWISE.of(aten.split.Tensor)
def _split(x: Tensor, size: int, dim: int = 0) -> Any:
    if size == 0:
        return NotImplemented
    ends = range(0, max(x.shape[dim], 1), size)
    return [aten.slice.Tensor(x, dim, start, min(start + size, x.shape[dim])) for start in ends]


@POINTWISE.of(aten.unbind.int)
def _unbind(x: Tensor, dim: int = 0) -> list[Tensor]:
    return [aten.select.int(x, dim, i) for i in range(x.shape[dim])]
