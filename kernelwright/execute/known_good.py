"""A kernel that is known to be right: a worker that took a candidate's blow must run it to be trusted.

It copies a vector, through the same path as any kernel: build, load, bind, launch, compare.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kernelwright.core.kernel import Build, Kernel, Proposer, Source
from kernelwright.core.plan import Buffer, BufferArg, Call, IntArg, Launch, Plan
from kernelwright.core.problem import Axis, Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.languages import build

SIZE = 1 << 16
_CPP = """#include <cstdint>
extern "C" void copy(const float *x, float *out, std::int64_t n) {
#pragma omp parallel for
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i];
}
"""
_CUDA = """extern "C" __global__ void copy(const float *x, float *out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
"""


def known_good(target: Target) -> tuple[Problem, Kernel, Build]:
    """The copy problem, its kernel and its build for `target`, from the cache after the first time."""
    problem = _problem()
    kernel = _kernel(problem.hash, target.name)
    return problem, kernel, build(kernel, target)


@lru_cache(maxsize=1)
def _problem() -> Problem:
    return Problem(
        name="copy",
        source="out = x",
        normalized="out = x",
        entry=Entry(kind="path", location="kernelwright.execute.known_good:copy"),
        axes=(Axis(name="n", size=SIZE),),
        inputs=(TensorSpec(name="x", dtype="float32", shape=("n",)),),
        outputs=(TensorSpec(name="out", dtype="float32", shape=("n",)),),
    )


def _kernel(problem: str, target: str) -> Kernel:
    args = (BufferArg(buffer="x"), BufferArg(buffer="out"), IntArg(value="n"))
    host = target == "cpu"
    launch = Launch(entry="copy", grid=("ceildiv(n, 256)", 1, 1), block=(256, 1, 1), args=args)
    return Kernel(
        name="known_good_copy",
        problem=problem,
        language="cpp" if host else "cuda",
        sources=(Source(path="copy.cpp" if host else "copy.cu", text=_CPP if host else _CUDA),),
        plan=Plan(
            buffers=(
                Buffer(name="x", role="input", dtype="float32", shape=("n",)),
                Buffer(name="out", role="output", dtype="float32", shape=("n",)),
            ),
            run=(Call(entry="copy", args=args) if host else launch,),
        ),
        proposer=Proposer(name="known_good"),
    )


def passes(state: dict[str, Any], *, problem: Any, kernel: Any, build: Any, device: str) -> bool:
    """In a worker: whether the kernel, run here, copies a vector exactly."""
    import torch

    from kernelwright.execute.runner import Runner

    parsed = Problem.model_validate(problem)
    runner = Runner(
        Kernel.model_validate(kernel), Build.model_validate(build), parsed, parsed.axis_sizes, device
    )
    runner.prepare({})
    x = torch.arange(SIZE, dtype=torch.float32, device=device)
    (out,) = runner.run([x], poison=True)
    same = bool(torch.equal(x, out))
    runner.close()
    return same
