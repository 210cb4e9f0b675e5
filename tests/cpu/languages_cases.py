"""Kernels that the tests of `kernelwright.languages` build, and a problem to name parameters after."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.plan import Buffer, BufferArg, Call, FloatArg, IntArg, Launch, Plan
from kernelwright.core.problem import Axis, Entry, Problem, ScalarSpec, TensorSpec
from kernelwright.core.target import Target

CPU = Target.parse("cpu")
SM_90 = Target.parse("cuda:sm_90")
SM_90A = Target.parse("cuda:sm_90a")

SCALE = """#include <cstdint>

extern "C" void scale(const float *x, float *out, std::int64_t n, float by) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * by;
}
"""
SCALE_CUDA = """extern "C" __global__ void scale(const float *x, float *out, long long n, float by) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) out[i] = x[i] * by;
}
"""
SCALE_TRITON = """import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * by, mask=at < n)
"""
ARGS = (
    BufferArg(buffer="x"),
    BufferArg(buffer="out"),
    IntArg(value="n"),
    FloatArg(value=2.0),
)


def buffers(dtype: Any = "float32") -> tuple[Buffer, ...]:
    return (
        Buffer(name="x", role="input", dtype=dtype, shape=("n",)),
        Buffer(name="out", role="output", dtype=dtype, shape=("n",)),
    )


def cpp(text: str = SCALE, *, dtype: Any = "float32", args: tuple[Any, ...] = ARGS, **fields: Any) -> Kernel:
    plan = Plan(buffers=buffers(dtype), run=(Call(entry="scale", args=args),))
    fields.setdefault("sources", (Source(path="kernel.cpp", text=text),))
    return Kernel(name="scale", problem="0", language="cpp", plan=plan, **fields)


def device(
    language: str, path: str, text: str, *, entry: str = "scale", args: tuple[Any, ...] = ARGS, **fields: Any
) -> Kernel:
    block = fields.pop("block", (256, 1, 1))
    step = Launch(entry=entry, grid=("ceildiv(n, 256)", 1, 1), block=block, args=args)
    plan = Plan(buffers=buffers(), run=(step,))
    sources = fields.pop("sources", (Source(path=path, text=text),))
    return Kernel(name="scale", problem="0", language=language, sources=sources, plan=plan, **fields)


def cuda(text: str = SCALE_CUDA, **fields: Any) -> Kernel:
    return device("cuda", "kernel.cu", text, **fields)


def triton(text: str = SCALE_TRITON, **fields: Any) -> Kernel:
    fields.setdefault("options", ("BLOCK=256", "num_warps=8"))
    return device("triton", "kernel.py", text, **fields)


def call(build: Build, entry: str, values: list[Any]) -> None:
    """Call a built `cpp` entry here; `values` are ctypes values, in the plan's order."""
    assert build.artifact is not None, build.log
    addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    getattr(ctypes.CDLL(build.artifact), f"kw_{entry}")(addresses)


def problem() -> Problem:
    """y = norm(x) with a dotted weight, a scalar and a mutated buffer."""
    return Problem(
        name="norm",
        source="",
        normalized="norm",
        entry=Entry(kind="path", location="norm.py"),
        axes=(Axis(name="rows", size=8), Axis(name="cols", size=16)),
        inputs=(TensorSpec(name="x", dtype="float32", shape=("rows", "cols")),),
        scalars=(
            ScalarSpec(name="eps", value=1e-5, position=1),
            ScalarSpec(name="groups", value=4, position=2),
        ),
        weights=(
            TensorSpec(name="norm.weight", dtype="float32", shape=("cols",)),
            TensorSpec(name="norm.mean", dtype="float32", shape=("cols",)),
        ),
        outputs=(TensorSpec(name="out", dtype="float32", shape=("rows", "cols")),),
        mutated=("norm.mean",),
    )


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
