"""How composite operations become pointwise operations, reductions and views.

torch's own table is the base. The entries here take further what core ATen keeps whole (norms,
softmax, activations), in forms that are at least as precise as eager: variance in two passes,
float16 and bfloat16 statistics in float32. `mean.dim` stays an operation: its divisor is a size,
and a literal would tie a kernel to it. Not covered: pooling, products, convolutions, sorting,
gathers and losses that gather stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

Tensor = torch.Tensor
Result = Any
"""A tensor: what calls into `torch.ops` return is not typed."""
aten: Any = torch.ops.aten
_OURS: dict[Any, Callable[..., Any]] = {}


def decompositions() -> dict[Any, Callable[..., Any]]:
    """torch's core ATen table with our entries over it, as a dictionary that the caller may change."""
    return dict(_table())


@lru_cache(maxsize=1)
def _table() -> dict[Any, Callable[..., Any]]:
    from torch.export import default_decompositions

    defaults: Any = default_decompositions()
    return {**dict(defaults.items()), **_OURS}


def _for(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _OURS.update(dict.fromkeys(ops, function))
        return function

    return register


def _wide(x: Tensor) -> Tensor:
    """float16 and bfloat16 as float32, in which eager computes too; others as they are."""
    return aten._to_copy.default(x, dtype=torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def _like(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x if x.dtype == dtype else aten._to_copy.default(x, dtype=dtype)


def _moments(x: Tensor, dims: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and biased variance over `dims` (kept as size 1), and the deviations: two passes."""
    mean = aten.mean.dim(x, dims, True)
    deviation = aten.sub.Tensor(x, mean)
    return mean, aten.mean.dim(aten.mul.Tensor(deviation, deviation), dims, True), deviation


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: list[int]) -> Tensor:
    if weight is not None:
        x = aten.mul.Tensor(x, _wide(_viewed(weight, shape)))
    return x if bias is None else aten.add.Tensor(x, _wide(_viewed(bias, shape)))


def _viewed(x: Tensor, shape: list[int]) -> Tensor:
    return x if list(x.shape) == shape else aten.view.default(x, shape)


def _normalized(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normalized values, mean, biased variance and reciprocal deviation."""
    mean, variance, deviation = _moments(x, dims)
    rstd = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    return aten.mul.Tensor(deviation, rstd), mean, variance, rstd


@_for(aten.native_layer_norm.default)
def _native_layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    y, mean, _, rstd = _normalized(_wide(x), dims, eps)
    return _like(_affine(y, weight, bias, list(shape)), x.dtype), mean, rstd


@_for(aten.native_group_norm.default)
def _native_group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, n: int, c: int, hw: int, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    grouped = aten.view.default(_wide(x), [n, groups, c // groups, hw])
    y, mean, _, rstd = _normalized(grouped, [2, 3], eps)
    y = _affine(aten.view.default(y, list(x.shape)), weight, bias, _channel(x))
    return _like(y, x.dtype), aten.view.default(mean, [n, groups]), aten.view.default(rstd, [n, groups])


@_for(aten.instance_norm.default)
def _instance_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn: bool,
) -> Any:  # fmt: skip
    if running_mean is not None or running_var is not None or not use_input_stats:
        return NotImplemented
    y, *_ = _normalized(_wide(x), list(range(2, x.dim())), eps)
    return _like(_affine(y, weight, bias, _channel(x)), x.dtype)


@_for(aten._native_batch_norm_legit_functional.default)
def _batch_norm_train(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, ...]:  # fmt: skip
    if not training:
        y, mean, rstd = _batch_norm_eval(x, weight, bias, running_mean, running_var, momentum, eps)
        return y, mean, rstd, aten.clone.default(running_mean), aten.clone.default(running_var)
    y, mean, variance, rstd = _normalized(_wide(x), _but_channel(x), eps)
    count = x.numel() // x.shape[1] if x.shape[1] else 0
    unbiased = aten.mul.Tensor(_flat(variance), count / (count - 1) if count > 1 else math.nan)
    return (
        _like(_affine(y, weight, bias, _channel(x)), x.dtype),
        _flat(mean),
        _flat(rstd),
        _running(running_mean, _flat(mean), momentum),
        _running(running_var, unbiased, momentum),
    )


@_for(aten._native_batch_norm_legit.no_stats)
def _batch_norm_no_stats(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, _, rstd = _normalized(_wide(x), _but_channel(x), eps)
    return _like(_affine(y, weight, bias, _channel(x)), x.dtype), _flat(mean), _flat(rstd)


@_for(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_eval(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    rstd = aten.rsqrt.default(aten.add.Tensor(_wide(var), eps))
    shape = _channel(x)
    deviation = aten.sub.Tensor(_wide(x), _wide(aten.view.default(mean, shape)))
    y = aten.mul.Tensor(deviation, aten.view.default(rstd, shape))
    empty = aten.full.default([0], 0.0, dtype=rstd.dtype, device=x.device)
    return _like(_affine(y, weight, bias, shape), x.dtype), empty, empty


def _channel(x: Tensor) -> list[int]:
    return [1, x.shape[1], *[1] * (x.dim() - 2)]


def _but_channel(x: Tensor) -> list[int]:
    return [0, *range(2, x.dim())]


def _flat(statistic: Tensor) -> Tensor:
    return _viewed(statistic, [statistic.numel()])


def _running(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    kept = aten.mul.Tensor(_wide(old), 1 - momentum)
    return _like(aten.add.Tensor(kept, aten.mul.Tensor(new, momentum)), old.dtype)


@_for(aten._softmax.default)
def _softmax(x: Tensor, dim: int, half_to_float: bool) -> Result:
    if x.numel() == 0:
        return aten.clone.default(x)
    powers = aten.exp.default(_shifted(x, dim))
    y = aten.div.Tensor(powers, aten.sum.dim_IntList(powers, _dims(x, dim), True))
    return y if half_to_float else _like(y, x.dtype)


@_for(aten._log_softmax.default)
def _log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Result:
    if x.numel() == 0:
        return aten.clone.default(x)
    shifted = _shifted(x, dim)
    total = aten.sum.dim_IntList(aten.exp.default(shifted), _dims(x, dim), True)
    y = aten.sub.Tensor(shifted, aten.log.default(total))
    return y if half_to_float else _like(y, x.dtype)


def _shifted(x: Tensor, dim: int) -> Result:
    wide = _wide(x)
    return aten.sub.Tensor(wide, aten.amax.default(wide, _dims(x, dim), True))


def _dims(x: Tensor, dims: int | Sequence[int] | None) -> list[int]:
    """`dims` counted from the front; all of them for None or none."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(x.dim()))
    listed = [dims] if isinstance(dims, int) else dims
    return sorted(dim % max(x.dim(), 1) for dim in listed) if x.dim() else []


@_for(aten.var.correction)
def _var(
    x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = 1, keepdim: bool = False
) -> Any:
    if x.is_complex() or x.dim() == 0:
        return NotImplemented
    dims = _dims(x, dim)
    _, variance, _ = _moments(_wide(x), dims)
    count = math.prod(x.shape[d] for d in dims)
    lost = 1 if correction is None else correction
    if lost:
        variance = aten.mul.Tensor(variance, count / (count - lost) if count > lost else math.nan)
    return _like(variance if keepdim else aten.squeeze.dims(variance, dims), x.dtype)


@_for(aten.var_mean.correction)
def _var_mean(
    x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = 1, keepdim: bool = False
) -> Any:
    if x.is_complex() or x.dim() == 0:
        return NotImplemented
    variance = _var(x, dim, correction=correction, keepdim=keepdim)
    return variance, _like(aten.mean.dim(_wide(x), _dims(x, dim), keepdim), x.dtype)


@_for(aten.mean.default)
def _mean(x: Tensor, *, dtype: torch.dtype | None = None) -> Result:
    return aten.mean.dim(x if dtype is None else _like(x, dtype), _dims(x, None), False)


@_for(aten.sum.default)
def _sum(x: Tensor, *, dtype: torch.dtype | None = None) -> Any:
    if x.dim() == 0:
        return NotImplemented
    return aten.sum.dim_IntList(x, _dims(x, None), False, dtype=dtype)


@_for(aten.max.default)
def _max(x: Tensor) -> Result:
    return aten.amax.default(x, _dims(x, None), False)


@_for(aten.min.default)
def _min(x: Tensor) -> Result:
    return aten.amin.default(x, _dims(x, None), False)


@_for(aten.gelu.default)
def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    wide = _wide(x)
    half = aten.mul.Tensor(wide, 0.5)
    if approximate == "tanh":
        cubic = aten.mul.Tensor(aten.mul.Tensor(aten.mul.Tensor(wide, wide), wide), 0.044715)
        inner = aten.mul.Tensor(aten.add.Tensor(wide, cubic), math.sqrt(2 / math.pi))
        gate = aten.tanh.default(inner)
    else:
        gate = aten.erf.default(aten.mul.Tensor(wide, math.sqrt(0.5)))
    return _like(aten.mul.Tensor(half, aten.add.Tensor(gate, 1)), x.dtype)


@_for(aten.silu.default)
def _silu(x: Tensor) -> Tensor:
    wide = _wide(x)
    return _like(aten.mul.Tensor(wide, aten.sigmoid.default(wide)), x.dtype)


@_for(aten.leaky_relu.default)
def _leaky_relu(x: Tensor, slope: float = 0.01) -> Result:
    return aten.where.self(aten.gt.Scalar(x, 0), x, aten.mul.Tensor(x, slope))


@_for(aten.elu.default)
def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    wide = _wide(x)
    negative = aten.mul.Tensor(aten.expm1.default(aten.mul.Tensor(wide, input_scale)), alpha * scale)
    return _like(aten.where.self(aten.gt.Scalar(wide, 0), aten.mul.Tensor(wide, scale), negative), x.dtype)


@_for(aten.hardtanh.default)
def _hardtanh(x: Tensor, low: float = -1, high: float = 1) -> Result:
    return aten.clamp.default(x, low, high)


@_for(aten.max.dim)
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Values and indices apart, so that whichever is not read disappears."""
    if x.dim() == 0:
        return NotImplemented
    return aten.amax.default(x, _dims(x, dim), keepdim), aten.argmax.default(x, dim, keepdim)


@_for(aten.min.dim)
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    if x.dim() == 0:
        return NotImplemented
    return aten.amin.default(x, _dims(x, dim), keepdim), aten.argmin.default(x, dim, keepdim)


@_for(aten.linalg_vector_norm.default)
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
    dims, kept = _dims(x, dim), x.dtype if dtype is None else dtype
    wide = _wide(_like(x, kept))
    if order == 2:
        total = aten.sum.dim_IntList(aten.mul.Tensor(wide, wide), dims, keepdim)
        return _like(aten.sqrt.default(total), kept)
    size = aten.abs.default(wide)
    if order == 1:
        return _like(aten.sum.dim_IntList(size, dims, keepdim), kept)
    extreme = aten.amax if order > 0 else aten.amin
    return _like(extreme.default(size, dims, keepdim), kept)


@_for(aten.split_with_sizes.default)
def _split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [aten.slice.Tensor(x, dim, start, start + size) for start, size in zip(starts, sizes, strict=True)]


@_for(aten.split.Tensor)
def _split(x: Tensor, size: int, dim: int = 0) -> Any:
    if size == 0:
        return NotImplemented
    ends = range(0, max(x.shape[dim], 1), size)
    return [aten.slice.Tensor(x, dim, start, min(start + size, x.shape[dim])) for start in ends]


@_for(aten.unbind.int)
def _unbind(x: Tensor, dim: int = 0) -> list[Tensor]:
    return [aten.select.int(x, dim, i) for i in range(x.shape[dim])]
