"""Layer, group, instance and batch norm: two-pass statistics, then scale and shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.graph.decompose_base import Table, Tensor, aten, like, moments, unbiased, widened

NORMS = Table()


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: list[int]) -> Tensor:
    if weight is not None:
        x = aten.mul.Tensor(x, widened(_viewed(weight, shape)))
    return x if bias is None else aten.add.Tensor(x, widened(_viewed(bias, shape)))


def _viewed(x: Tensor, shape: list[int]) -> Tensor:
    return x if list(x.shape) == shape else aten.view.default(x, shape)


def _normalized(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normalized values, mean, biased variance and reciprocal deviation."""
    mean, variance, deviation = moments(x, dims)
    rstd = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    return aten.mul.Tensor(deviation, rstd), mean, variance, rstd


@NORMS.of(aten.native_layer_norm.default)
def _native_layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    y, mean, _, rstd = _normalized(widened(x), dims, eps)
    return like(_affine(y, weight, bias, list(shape)), x.dtype), mean, rstd


@NORMS.of(aten.native_group_norm.default)
def _native_group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, n: int, c: int, hw: int, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    grouped = aten.view.default(widened(x), [n, groups, c // groups, hw])
    y, mean, _, rstd = _normalized(grouped, [2, 3], eps)
    y = _affine(aten.view.default(y, list(x.shape)), weight, bias, _channel(x))
    return like(y, x.dtype), aten.view.default(mean, [n, groups]), aten.view.default(rstd, [n, groups])


@NORMS.of(aten.instance_norm.default)
def _instance_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn: bool,
) -> Any:  # fmt: skip
    if running_mean is not None or running_var is not None or not use_input_stats:
        return NotImplemented
    y, *_ = _normalized(widened(x), list(range(2, x.dim())), eps)
    return like(_affine(y, weight, bias, _channel(x)), x.dtype)


@NORMS.of(aten._native_batch_norm_legit_functional.default)
def _batch_norm_train(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, ...]:  # fmt: skip
    if not training:
        y, mean, rstd = _batch_norm_eval(x, weight, bias, running_mean, running_var, momentum, eps)
        return y, mean, rstd, aten.clone.default(running_mean), aten.clone.default(running_var)
    y, mean, variance, rstd = _normalized(widened(x), _but_channel(x), eps)
    count = x.numel() // x.shape[1] if x.shape[1] else 0
    return (
        like(_affine(y, weight, bias, _channel(x)), x.dtype),
        _flat(mean),
        _flat(rstd),
        _running(running_mean, _flat(mean), momentum),
        _running(running_var, unbiased(_flat(variance), count, 1), momentum),
    )


@NORMS.of(aten._native_batch_norm_legit.no_stats)
def _batch_norm_no_stats(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, _, rstd = _normalized(widened(x), _but_channel(x), eps)
    return like(_affine(y, weight, bias, _channel(x)), x.dtype), _flat(mean), _flat(rstd)


@NORMS.of(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_eval(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    rstd = aten.rsqrt.default(aten.add.Tensor(widened(var), eps))
    shape = _channel(x)
    deviation = aten.sub.Tensor(widened(x), widened(aten.view.default(mean, shape)))
    y = aten.mul.Tensor(deviation, aten.view.default(rstd, shape))
    empty = aten.full.default([0], 0.0, dtype=rstd.dtype, device=x.device)
    return like(_affine(y, weight, bias, shape), x.dtype), empty, empty


def _channel(x: Tensor) -> list[int]:
    return [1, x.shape[1], *[1] * (x.dim() - 2)]


def _but_channel(x: Tensor) -> list[int]:
    return [0, *range(2, x.dim())]


def _flat(statistic: Tensor) -> Tensor:
    return _viewed(statistic, [statistic.numel()])


def _running(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    kept = aten.mul.Tensor(widened(old), 1 - momentum)
    return like(aten.add.Tensor(kept, aten.mul.Tensor(new, momentum)), old.dtype)
