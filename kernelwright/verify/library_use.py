"""What a plan's library steps multiply and add up in, as far as their buffers and torch's flags say.

Products of float32 run in TF32 where the problem's flags let them, for kernel and reference alike.
Products of halves are added up in float32; where torch splits a long product it may add the parts in the
halves' own type (its default, on both sides too). What leaves a step has the type of its buffer: that is the
type of the sum.

Not covered: what a library chooses inside of these bounds (algorithm, order).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernelwright.core.dtypes import FLOATS
from kernelwright.core.plan import Library, Plan, Repeat, Step
from kernelwright.core.problem import NumericFlags

MATMULS = frozenset({"mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "dot", "addbmm", "_cdist_forward"})
CONVOLUTIONS = frozenset({"convolution"})
SUMS = frozenset({
    "sum", "mean", "cumsum", "logcumsumexp", "var", "linalg_vector_norm", "scatter_add", "index_add",
    "index_put", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d", "col2im", "upsample_bilinear2d", "grid_sampler_2d", "native_layer_norm",
    "native_group_norm", "_softmax", "_log_softmax",
})  # fmt: skip


@dataclass(frozen=True)
class LibraryUse:
    """One library operation that multiplies or adds up."""

    op: str
    """Such as `aten.mm.out`."""
    multiplies: bool
    operands: tuple[str, ...]
    """Floating types of the buffers that it reads; `tf32` for float32 that torch may round to it."""
    result: str
    """Type of the first buffer that it fills."""


def library_uses(plan: Plan | None, flags: NumericFlags, device: str) -> list[LibraryUse]:
    """Operations of `prepare` and `run` that multiply or add up floating-point values, each kind once."""
    if plan is None:
        return []
    found = (_use(plan, step, flags, device) for step in _library((*plan.prepare, *plan.run)))
    return list(dict.fromkeys(use for use in found if use is not None))


def _library(steps: tuple[Step, ...]) -> Iterator[Library]:
    for step in steps:
        if isinstance(step, Repeat):
            yield from _library(step.steps)
        elif isinstance(step, Library):
            yield step


def _use(plan: Plan, step: Library, flags: NumericFlags, device: str) -> LibraryUse | None:
    name = step.op.removeprefix("aten.").partition(".")[0]
    multiplies = name in MATMULS or name in CONVOLUTIONS
    types = {buffer.name: buffer.dtype for buffer in plan.buffers}
    result = types.get(step.outputs[0]) if step.outputs else None
    if not (multiplies or name in SUMS) or result not in FLOATS:
        return None
    rounds = flags.tf32_conv if name in CONVOLUTIONS else flags.tf32_matmul
    read = sorted({types[name] for name in _buffers(step.inputs) if types.get(name) in FLOATS})
    tf32 = multiplies and rounds and device == "cuda"
    operands = tuple("tf32" if tf32 and dtype == "float32" else dtype for dtype in read)
    return LibraryUse(step.op, multiplies, operands, str(result))


def _buffers(value: Any) -> Iterator[str]:
    """Names of buffers among a step's arguments."""
    if isinstance(value, dict):
        if isinstance(value.get("buffer"), str):
            yield value["buffer"]
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _buffers(item)
