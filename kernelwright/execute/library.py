"""Library steps: allow-listed ATen operations that write into a plan's buffers.

Two groups. Operations of `OUT` have a real out-variant, which writes the buffer in place. For those
of `FRESH` torch's out-variant only computes a new tensor and copies it, so the functional form is
called and its result *becomes* the buffer (where no earlier step has touched it; else it is copied).

Result shapes are found at binding time on the meta device, so nothing is ever resized; a buffer of
another shape but the same number of elements is viewed. Not covered: `algorithm` (cuBLASLt, cuDNN).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch

from kernelwright.core.errors import did_you_mean, first_line
from kernelwright.execute.bound import BoundBuffer, BoundLibrary, DtypeName, View
from kernelwright.execute.reports import KernelFault, PlanRefused

OUT = frozenset({
    "aten.mm.out", "aten.addmm.out", "aten.bmm.out", "aten.baddbmm.out", "aten.addmv.out",
    "aten.mv.out", "aten.dot.out", "aten.addbmm.out", "aten.avg_pool2d.out", "aten.avg_pool3d.out",
    "aten.adaptive_avg_pool2d.out", "aten.max_pool2d_with_indices.out",
    "aten.max_pool3d_with_indices.out", "aten.adaptive_max_pool2d.out", "aten.cat.out",
    "aten.index_select.out", "aten.gather.out", "aten.index.Tensor_out", "aten.scatter.src_out",
    "aten.scatter.value_out", "aten.scatter_add.out", "aten.index_add.out", "aten.sort.values",
    "aten.sort.values_stable", "aten.topk.values", "aten.kthvalue.values", "aten.cumsum.out",
    "aten.cumprod.out", "aten.logcumsumexp.out", "aten.cummax.out", "aten.cummin.out",
    "aten.sum.IntList_out", "aten.mean.out", "aten.prod.int_out", "aten.amax.out", "aten.amin.out",
    "aten.argmax.out", "aten.argmin.out", "aten.max.dim_max", "aten.min.dim_min", "aten.any.out",
    "aten.all.out", "aten.triu.out", "aten.tril.out", "aten.var.correction_out",
    "aten.linalg_vector_norm.out", "aten.where.self_out", "aten.im2col.out", "aten.col2im.out",
    "aten.reflection_pad1d.out", "aten.reflection_pad2d.out", "aten.replication_pad2d.out",
    "aten.upsample_nearest1d.out", "aten.upsample_nearest2d.out", "aten.upsample_bilinear2d.out",
    "aten._softmax.out", "aten._log_softmax.out",
})  # fmt: skip
"""Operations with a real out-variant."""

FRESH = frozenset({
    "aten.convolution.out", "aten.avg_pool1d.out", "aten._adaptive_avg_pool2d.out",
    "aten._adaptive_avg_pool3d.out", "aten.embedding.out", "aten.index_put.out",
    "aten.constant_pad_nd.out", "aten.grid_sampler_2d.out", "aten.native_layer_norm.out",
    "aten.native_group_norm.out", "aten.clone.out", "aten.flip.out", "aten.roll.out", "aten.repeat.out",
    "aten.stack.out", "aten.pixel_shuffle.out", "aten._cdist_forward.out", "aten.slice_scatter.out",
    "aten.select_scatter.out",
})  # fmt: skip
"""Operations whose functional form (overload `default`) is called in place of the out-variant."""


class LibraryCall:
    """One bound library step, checked and ready to run."""

    def __init__(self, where: str, step: BoundLibrary, buffers: Mapping[str, BoundBuffer]) -> None:
        self.step = step
        self._where = where
        self.fresh = step.op in FRESH
        self._op = _overload(where, step.op)
        self._out_names = [argument.name for argument in _schema_of(step.op).arguments if argument.is_out]
        if len(step.outputs) != len(self._out_names):
            raise PlanRefused(
                f"{where}: {step.op} fills {len(self._out_names)} buffers, {len(step.outputs)} are given"
            )
        self._outputs = [buffers[view.buffer] for view in step.outputs]
        self._shapes = self._infer(buffers)

    @property
    def outputs(self) -> list[BoundBuffer]:
        """The buffers that it fills."""
        return self._outputs

    def run(self, tensors: dict[str, torch.Tensor], adopt: frozenset[str]) -> None:
        """Run on these tensors. Of `fresh` results, those named in `adopt` replace their tensor."""
        try:
            if self.fresh:
                self._keep(self._results(tensors), tensors, adopt)
            else:
                outs = [
                    tensors[buffer.name].view(shape)
                    for buffer, shape in zip(self._outputs, self._shapes, strict=True)
                ]
                self._op(
                    *self._inputs(tensors),
                    **self._keywords(tensors),
                    **dict(zip(self._out_names, outs, strict=True)),
                )
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise KernelFault(f"{self._where}: {self.step.op} failed: {first_line(error)}") from error

    def _keep(
        self, results: Sequence[torch.Tensor], tensors: dict[str, torch.Tensor], adopt: frozenset[str]
    ) -> None:
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors.values()}
        for buffer, result in zip(self._outputs, results, strict=True):
            own = result.untyped_storage().data_ptr() not in given
            if buffer.name in adopt and own:
                tensors[buffer.name] = result.contiguous().view(buffer.shape)
            else:
                tensors[buffer.name].view(result.shape).copy_(result)

    def _results(self, tensors: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        result = self._op(*self._inputs(tensors), **self._keywords(tensors))
        return (result,) if isinstance(result, torch.Tensor) else tuple(result)

    def _inputs(self, tensors: Mapping[str, torch.Tensor]) -> list[Any]:
        return [_value(item, tensors) for item in self.step.inputs]

    def _keywords(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        return {name: _value(item, tensors) for name, item in self.step.keywords.items()}

    def _infer(self, buffers: Mapping[str, BoundBuffer]) -> list[tuple[int, ...]]:
        """Shapes of the results, run on the meta device; PlanRefused where they do not fit the buffers."""
        meta = {name: _meta(buffer) for name, buffer in buffers.items()}
        outs = {
            name: torch.empty(0, dtype=getattr(torch, buffer.dtype), device="meta")
            for name, buffer in zip(self._out_names, self._outputs, strict=True)
        }
        try:
            if self.fresh:
                results = list(self._results(meta))
            else:
                self._op(*self._inputs(meta), **self._keywords(meta), **outs)
                results = list(outs.values())
        except NotImplementedError:
            return [buffer.shape for buffer in self._outputs]
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise PlanRefused(
                f"{self._where}: {self.step.op} does not take these arguments: {first_line(error)}"
            ) from error
        for buffer, result in zip(self._outputs, results, strict=True):
            if result.numel() != buffer.numel or result.dtype != getattr(torch, buffer.dtype):
                raise PlanRefused(
                    f"{self._where}: {self.step.op} makes {list(result.shape)} of {result.dtype}, but"
                    f" '{buffer.name}' is {list(buffer.shape)} of {buffer.dtype}"
                )
        return [tuple(result.shape) for result in results]


def _value(item: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    match item:
        case View(buffer=name, shape=None):
            return tensors[name]
        case View(buffer=name, shape=tuple(shape), strides=tuple(strides), offset=offset):
            return tensors[name].as_strided(shape, strides, offset)
        case DtypeName(name=name):
            return getattr(torch, name)
        case list():
            return [_value(inner, tensors) for inner in item]
    return item


def _meta(buffer: BoundBuffer) -> torch.Tensor:
    return torch.empty(buffer.shape, dtype=getattr(torch, buffer.dtype), device="meta")


def _overload(where: str, name: str) -> Any:
    """The operation to call for an allow-listed name; PlanRefused for any other."""
    if name not in OUT and name not in FRESH:
        raise PlanRefused(
            f"{where}: library operation '{name}' is not allowed; {did_you_mean(name, OUT | FRESH)}"
        )
    _, packet, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), "default" if name in FRESH else overload)


@lru_cache(maxsize=256)
def _schema_of(name: str) -> Any:
    _, packet, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), overload)._schema
