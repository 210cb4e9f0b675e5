"""A kernel put back into a module: it serves what it can, and the original serves the rest."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from execute_cases import RELU, RELU_CPP, at, built, call, kernel, number, problem, relu_kernel, spec, tensor
from torch import nn

from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.module import KernelModule

SCALE = problem(
    "scale",
    axes={"n": 4},
    inputs=(spec("x", "n", 3),),
    weights=(spec("weight", 3),),
    outputs=(spec("out", "n", 3),),
)
SCALE_CPP = """#include <cstdint>
extern "C" void doubled(const float *w, float *p) { for (int i = 0; i < 3; ++i) p[i] = 2 * w[i]; }
extern "C" void scale(const float *x, const float *p, float *out, std::int64_t n) {
    for (std::int64_t i = 0; i < 3 * n; ++i) out[i] = x[i] * p[i % 3];
}
"""


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight * 2


class Pair(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        return {"relu": torch.relu(x), "name": "pair", "other": [torch.relu(x)]}


def scaled(domain: str = "n >= 2") -> KernelModule:
    made = kernel(
        SCALE,
        SCALE_CPP,
        [
            tensor("x", "input", "n", 3),
            tensor("weight", "weight", 3),
            tensor("p", "prepared", 3),
            tensor("out", "output", "n", 3),
        ],
        [call("scale", at("x"), at("p"), at("out"), number("n"))],
        prepare=[call("doubled", at("weight"), at("p"))],
        domain=domain,
    )
    return KernelModule(Scale(), made, built(made), SCALE, like=torch.zeros(4, 3))


def relu_module(original: Any = torch.relu, like: Any = None) -> KernelModule:
    made = relu_kernel()
    return KernelModule(original, made, built(made), RELU, like=like)


def test_inside_the_domain_the_kernel_answers() -> None:
    module = scaled()
    for rows in (2, 4, 4, 7):
        x = torch.randn(rows, 3)
        assert torch.equal(module(x), module.original(x))
    assert module.served == 4 and not module.passed_on


def test_outside_the_original_answers_and_says_why() -> None:
    module = scaled()
    x = torch.randn(1, 3)
    assert torch.equal(module(x), module.original(x))
    assert module(x.double()).dtype == torch.float64
    assert module(torch.randn(4, 5, 3)).shape == (4, 5, 3)
    assert module.served == 0 and sum(module.passed_on.values()) == 3
    assert any("outside the kernel's domain" in reason for reason in module.passed_on)


def test_changed_weights_are_prepared_again() -> None:
    module = scaled()
    x = torch.randn(4, 3)
    module(x)
    with torch.no_grad():
        module.original.weight.mul_(3)
    assert torch.equal(module(x), module.original(x))
    module.original.weight = nn.Parameter(torch.tensor([5.0, 6.0, 7.0]), requires_grad=False)
    assert torch.equal(module(x), module.original(x))
    assert module.served == 3


def test_gradients_modes_and_autocast_are_the_originals() -> None:
    module = scaled()
    x = torch.randn(4, 3, requires_grad=True)
    module(x).sum().backward()
    assert x.grad is not None
    module.eval()
    module(x.detach())
    module.train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        module(x.detach())
    assert module.served == 0 and len(module.passed_on) == 3
    with torch.no_grad():
        module(x)
    assert module.served == 1


def test_keyword_arguments_are_put_in_order() -> None:
    module = scaled()
    assert module(x=torch.ones(4, 3)).sum() == 48
    with pytest.raises(TypeError):
        module(torch.ones(4, 3), y=1)


def test_a_function_is_learnt_from_its_first_call() -> None:
    module = relu_module()
    x = torch.randn(1000)
    for _ in range(3):
        assert torch.equal(module(x), torch.relu(x))
    assert module.served == 2 and sum(module.passed_on.values()) == 1


def test_structures_are_restored() -> None:
    two: Problem = problem(
        "pair", axes={"n": 6}, inputs=(spec("x", "n"),), outputs=(spec("out0", "n"), spec("out1", "n"))
    )
    run = [call("relu", at("x"), at(name), number("n")) for name in ("out0", "out1")]
    buffers = [tensor("x", "input", "n"), tensor("out0", "output", "n"), tensor("out1", "output", "n")]
    made: Kernel = kernel(two, RELU_CPP, buffers, run)
    module = KernelModule(Pair(), made, built(made), two)
    x = torch.randn(6)
    module(x)
    found = module(x)
    assert module.served == 1
    assert found["name"] == "pair"
    assert torch.equal(found["relu"], torch.relu(x)) and torch.equal(found["other"][0], torch.relu(x))
