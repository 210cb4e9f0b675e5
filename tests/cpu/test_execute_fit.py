"""A kernel goes into the module that it was proven for, and into no other; that module's state stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute.agreement import agree
from kernelwright.execute.fit import fitted
from kernelwright.execute.module import KernelModule
from kernelwright.languages import build
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem

CPU = Target.parse("cpu")
X = torch.randn(6, 8)
TEXT = """extern "C" void k(const float *x, const float *weight, float *out, long out_numel) {
    for (long i = 0; i < out_numel; ++i) out[i] = (x[i] > 0 ? x[i] : 0) * weight[i % 8] * 1.5f;
}
"""
DOUBLE = """extern "C" void k(const float *x, float *out, long out_numel) {
    for (long i = 0; i < out_numel; ++i) out[i] = x[i] * 2;
}
"""


class Net(nn.Module):
    def __init__(self, factor: float = 1.5, traced: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8) + 0.5)
        self.act = nn.ReLU()
        self.factor = factor
        self.traced = traced

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.traced and x.sum() > 1e9:
            return x
        return self.act(x) * self.weight * self.factor


class Renamed(nn.Module):
    """Another class, and an argument of another name: the same function."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return torch.relu(values) * self.weight * 1.5


class Moving(nn.Module):
    """Changes a buffer and counts its calls by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.calls = [0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls[0] += 1
        self.steps.add_(1)
        return x * 2


Found = tuple[Kernel, Build, Problem]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_DATA", str(place / "data"))
        yield place


def found(original: Callable[..., Any], text: str, folder: Path) -> Found:
    problem = load_problem(original, (X,))
    path = folder / "k.cpp"
    path.write_text(text)
    kernel = Kernel.model_validate(read_kernel(path, problem, CPU))
    made = build(kernel, CPU)
    assert made.status == "built", made.log
    return kernel, made, problem


@pytest.fixture(scope="module")
def traced(folder: Path) -> Found:
    return found(Net(), TEXT, folder)


@pytest.fixture(scope="module")
def untraced(folder: Path) -> Found:
    return found(Net(traced=False), TEXT, folder)


@pytest.mark.parametrize("original", [Net, Renamed, lambda: Net().eval()], ids=["own", "renamed", "eval"])
def test_the_same_function_with_other_weights_is_served_from_the_first_call(
    original: Callable[[], nn.Module], traced: Found
) -> None:
    module = fitted(original(), *traced)
    assert (module.served, module.passed_on) == (0, {})
    module.train()
    with torch.no_grad():
        torch.testing.assert_close(module(X), module.original(X))
    assert module.served == 1, module.passed_on


def test_without_an_original_the_problems_own_is_made(traced: Found) -> None:
    with torch.no_grad():
        module = fitted(None, *traced)
        torch.testing.assert_close(module(X), module.original(X))
    assert module.served == 1


def changed(change: Callable[[Net], object], traced: bool = True) -> Net:
    net = Net(traced=traced)
    change(net)
    return net


def _hooked(net: Net) -> None:
    net.act.register_forward_hook(lambda module, given, result: result * 5)


def _narrower(net: Net) -> None:
    net.weight = nn.Parameter(torch.rand(4))


CHANGES: dict[str, Callable[[Net], object]] = {
    "factor": lambda net: setattr(net, "factor", 3.0),
    "part": lambda net: setattr(net, "act", nn.Tanh()),
    "hook": _hooked,
    "forward": lambda net: setattr(net, "forward", lambda x: x * net.weight),
}
OTHERS: dict[str, Callable[[], Callable[..., Any]]] = {
    **{name: lambda change=change: changed(change) for name, change in CHANGES.items()},
    "factor, nearly": lambda: Net(1.5 + 1e-6),
    "type": lambda: Net().double(),
    "size": lambda: changed(_narrower),
    "another module": lambda: nn.LayerNorm(8),
    "another without weights": nn.ReLU,
    "function": lambda: torch.relu,
    "other arguments": lambda: nn.Bilinear(8, 8, 8),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_function_is_refused_in_one_line(other: str, traced: Found) -> None:
    with pytest.raises(UsageError, match=r"was proven for: .*; give the module that was optimized") as caught:
        fitted(OTHERS[other](), *traced)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", CHANGES)
def test_where_there_is_no_graph_results_tell(change: str, untraced: Found) -> None:
    fitted(Net(traced=False), *untraced)
    with pytest.raises(UsageError, match="results are not the kernel's"):
        fitted(changed(CHANGES[change], traced=False), *untraced)


NORM = """#include <cmath>
extern "C" void k(const float *input, const float *weight, const float *bias, float *out, long out_numel) {
    for (long row = 0; row < out_numel; row += 8) {
        float mean = 0, square = 0;
        for (int i = 0; i < 8; ++i) mean += input[row + i] / 8;
        for (int i = 0; i < 8; ++i) square += (input[row + i] - mean) * (input[row + i] - mean) / 8;
        for (int i = 0; i < 8; ++i)
            out[row + i] = (input[row + i] - mean) / std::sqrt(square + 1e-5f) * weight[i] + bias[i];
    }
}
"""


@pytest.mark.parametrize("eps", [0.5, 2e-5])
def test_another_epsilon_is_refused_however_small(eps: float, folder: Path) -> None:
    kept = found(nn.LayerNorm(8), NORM, folder)
    fitted(nn.LayerNorm(8), *kept)
    with pytest.raises(UsageError, match="layer_norm"):
        fitted(nn.LayerNorm(8, eps=eps), *kept)


def test_the_module_and_the_generator_stay_as_they_were(folder: Path) -> None:
    text = """extern "C" void k(const float *x, float *steps, float *out, long out_numel) {
        for (long i = 0; i < out_numel; ++i) out[i] = x[i] * 2;
        *steps += 1;
    }"""
    mine, kept = Moving(), found(Moving(), text, folder)
    before = torch.get_rng_state()
    module = fitted(mine, *kept)
    assert torch.equal(torch.get_rng_state(), before)
    assert (float(mine.steps), mine.calls) == (0.0, [0])
    with torch.no_grad():
        module(X)
    assert (float(mine.steps), module.served) == (1.0, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_rounding_agrees_and_another_function_does_not(dtype: torch.dtype) -> None:
    values = torch.randn(1000).to(dtype)
    assert agree(values + values * 1e-7, values, 1e-3)
    assert not agree(values * 1.5, values, 1e-3)
    assert not agree(values.clone().fill_(torch.nan), values, 1e-3)
    assert not agree(values[:-1], values, 1e-3)


def test_a_checkpoint_has_the_originals_names(traced: Found) -> None:
    plain, module = Net(), fitted(Net(), *traced)
    assert list(module.state_dict()) == list(plain.state_dict()) == ["weight"]
    module.load_state_dict(plain.state_dict())
    assert torch.equal(module.original.weight, plain.weight)
    plain.load_state_dict(module.state_dict())
    with pytest.raises(RuntimeError, match=r'Missing key.*"weight"'):
        module.load_state_dict({})


def test_a_checkpoint_of_a_larger_model_has_the_originals_names(traced: Found) -> None:
    plain = nn.Sequential(nn.BatchNorm1d(8), nn.Sequential(Net()))
    larger = nn.Sequential(nn.BatchNorm1d(8), nn.Sequential(fitted(Net(), *traced)))
    assert list(larger.state_dict()) == list(plain.state_dict())
    larger.load_state_dict(plain.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(larger.parameters(), plain.parameters(), strict=True))
    plain.load_state_dict(larger.state_dict())


def test_a_function_has_no_checkpoint(traced: Found) -> None:
    module = KernelModule(torch.relu, *traced)
    assert not module.state_dict()
    module.load_state_dict({})


def test_a_path_whose_text_was_edited_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = "import torch\ndef double(x):\n    return x * 2\ndef inputs():\n    return [torch.randn(6, 8)]\n"
    source = folder / "edited.py"
    source.write_text(text)
    problem = load_problem("edited.py:double", "edited.py:inputs")
    path = folder / "k.cpp"
    path.write_text(DOUBLE)
    kernel = Kernel.model_validate(read_kernel(path, problem, CPU))
    made = build(kernel, CPU)
    assert fitted(None, kernel, made, problem)(X).equal(X * 2)
    source.write_text(text.replace("x * 2", "x * 2.0001"))
    with pytest.raises(UsageError, match="was edited after its kernel was found"):
        fitted(None, kernel, made, problem)
