"""Problems and kernels, written by hand, that the execute tests run."""

from __future__ import annotations

from typing import Any

from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.plan import Plan
from kernelwright.core.problem import Axis, Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.languages import build as build_kernel

CPU = Target.parse("cpu")


def spec(name: str, *shape: int | str, dtype: str = "float32") -> TensorSpec:
    return TensorSpec.model_validate({"name": name, "dtype": dtype, "shape": list(shape)})


def tensor(name: str, role: str, *shape: int | str, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape)}


def at(name: str, offset: Any = 0) -> dict[str, Any]:
    return {"kind": "buffer", "buffer": name, "offset": offset}


def number(value: Any) -> dict[str, Any]:
    return {"kind": "int", "value": value}


def call(entry: str, *args: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "call", "entry": entry, "args": list(args)}


def problem(name: str, *, axes: dict[str, int], **fields: Any) -> Problem:
    """A problem that has no source of its own: for runners, which never open the reference."""
    return Problem(
        name=name,
        source=name,
        normalized=name,
        entry=Entry(kind="path", location="tests:none"),
        axes=tuple(Axis(name=axis, size=size) for axis, size in axes.items()),
        **fields,
    )


def kernel(
    of: Problem,
    text: str,
    buffers: list[Any],
    run: list[Any],
    prepare: list[Any] | None = None,
    domain: str = "",
) -> Kernel:
    plan = Plan.model_validate({"buffers": buffers, "run": run, "prepare": prepare or []})
    sources = (Source(path="kernel.cpp", text=text),) if text else ()
    return Kernel(name="by_hand", problem=of.hash, language="cpp", sources=sources, plan=plan, domain=domain)


def built(made: Kernel) -> Build:
    found = build_kernel(made, CPU)
    assert found.status == "built", found.log
    return found


RELU = problem("relu", axes={"n": 1000}, inputs=(spec("x", "n"),), outputs=(spec("out", "n"),))
RELU_CPP = """#include <cstdint>
extern "C" void relu(const float *x, float *out, std::int64_t n) {
#pragma omp parallel for
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] < 0 ? 0.0f : x[i];
}
"""
RELU_BUFFERS = [tensor("x", "input", "n"), tensor("out", "output", "n")]
RELU_RUN = [call("relu", at("x"), at("out"), number("n"))]


def relu_kernel(text: str = RELU_CPP, domain: str = "n >= 1", of: Problem = RELU) -> Kernel:
    return kernel(of, text, RELU_BUFFERS, RELU_RUN, domain=domain)


RELU_FILE = '''"""Rectifier."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


n = {size}


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
'''

BATCH_NORM_FILE = '''"""Batch norm in train mode: running statistics are outputs."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(x)


rows = 64


def get_inputs():
    return [torch.randn(rows, 8)]


def get_init_inputs():
    return []
'''
