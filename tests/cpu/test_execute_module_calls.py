"""What changes what the original computes is the original's: a kernel answers no other call."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from execute_cases import RELU, built, relu_kernel
from torch import nn
from torch.autograd import forward_ad

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.target import Target
from kernelwright.execute.module import KernelModule
from kernelwright.languages import build
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem

CPU = Target.parse("cpu")
X, Y = torch.randn(6, 8), torch.randn(6, 8)
TEXT = """extern "C" void k({inputs}, float *{out}, long {count}) {{
    for (long i = 0; i < {count}; ++i) {out}[i] = {value};
}}
"""
Call = tuple[Any, ...]


@pytest.fixture(scope="module")
def replaced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., KernelModule]]:
    """`original` with a kernel that computes `value` of its inputs at `i`, warmed up on `args`."""
    folder = tmp_path_factory.mktemp("kernels")

    def make(original: Callable[..., Any], args: Call, value: str) -> KernelModule:
        problem = load_problem(original, args)
        names = {"inputs": ", ".join(f"const float *{spec.name}" for spec in problem.inputs)}
        out = problem.outputs[0].name
        path = folder / "k.cpp"
        path.write_text(TEXT.format(**names, out=out, count=f"{out}_numel", value=value))
        kernel = read_kernel(path, problem, CPU)
        made: Build = build(Kernel.model_validate(kernel), CPU)
        assert made.status == "built", made.log
        module = KernelModule(original, kernel, made, problem)
        for _ in range(2):
            with torch.no_grad():
                torch.testing.assert_close(module(*args), original(*args))
        assert module.served == 1, module.passed_on
        return module

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_DATA", str(folder / "data"))
        yield make


def scaled(x: torch.Tensor, scale: float = 2.0, *, add: float = 1.0) -> torch.Tensor:
    return x * scale + add


def moded(x: torch.Tensor, mode: str) -> torch.Tensor:
    return x * 2 + 1 if mode == "double" else x


def difference(pair: dict[str, torch.Tensor]) -> torch.Tensor:
    return pair["a"] * 2 - pair["b"]


def listed(x: torch.Tensor, numbers: Any) -> torch.Tensor:
    return x * numbers[0] + numbers[1]


def sums(twice: list[torch.Tensor], thrice: list[torch.Tensor]) -> torch.Tensor:
    return sum(x * 2 for x in twice) + sum(x * 3 for x in thrice)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("original", "args", "value", "others"),
    [
        (scaled, (X,), "x[i] * 2 + 1", [(X, 3.0), (X, 2.0), (X, {"add": 3.0}), (X, {"scale": 0.5})]),
        (scaled, (X, 2.0), "x[i] * 2 + 1", [(X, 3.0), (X, 2), (X, True), (X, float("nan")), (X,)]),
        (scaled, (X, 0.0), "1", [(X, -0.0), (X, 0)]),
        (moded, (X, "double"), "x[i] * 2 + 1", [(X, "none"), (X, "")]),
        (difference, ({"a": X, "b": Y},), "pair_a[i] * 2 - pair_b[i]", [({"b": Y, "a": X},)]),
        (listed, (X, [2.0, 1.0]), "x[i] * 2 + 1", [(X, [2.0, 3.0]), (X, [2.0, 1.0, 5.0])]),
        (
            sums, ([X], [Y, X]), "twice_0[i] * 2 + thrice_0[i] * 3 + thrice_1[i] * 3",
            [([X, Y], [X]), ([X, Y, X], []), ([Y], [X, X, X])],
        ),
    ],
    ids=["defaults", "number", "zero", "text", "dict", "list", "nesting"],
)  # fmt: skip
def test_other_arguments_than_the_problems(
    original: Callable[..., Any],
    args: Call,
    value: str,
    others: list[Call],
    replaced: Callable[..., KernelModule],
) -> None:
    module = replaced(original, args, value)
    for other in others:
        named = other[-1] if isinstance(other[-1], dict) and len(other) > 1 else {}
        given = other[: len(other) - bool(named)]
        torch.testing.assert_close(module(*given, **named), original(*given, **named), equal_nan=True)
    assert module.served == 1, "one of them got the kernel's answer"
    module(*args)
    assert module.served == 2


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.0)
        self.act = nn.ReLU()
        self.scale = 2.0
        self.shifts = [1.0]
        self.function = torch.sin
        self.child = nn.Sequential(nn.Identity())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.child(self.act(self.drop(x))) * self.scale + self.shifts[0]
        return x if self.function is torch.sin else self.function(x)


def _hooked(net: Net) -> None:
    net.act.register_forward_hook(lambda module, given, result: result * 5)


def _hooked_before(net: Net) -> None:
    net.child[0].register_forward_pre_hook(lambda module, given: (given[0] * 5,))


CHANGES: dict[str, Callable[[Net], object]] = {
    "number": lambda net: setattr(net, "scale", 3.0),
    "list": lambda net: net.shifts.__setitem__(0, 5.0),
    "function": lambda net: setattr(net, "function", torch.cos),
    "part": lambda net: setattr(net, "act", nn.Tanh()),
    "part below": lambda net: net.child.__setitem__(0, nn.Tanh()),
    "part more": lambda net: net.child.append(nn.Tanh()),
    "a part's number": lambda net: setattr(net.drop, "p", 1.0),
    "hook": _hooked,
    "hook before": _hooked_before,
    "forward of its own": lambda net: setattr(net.act, "forward", torch.tanh),
    "a part's mode": lambda net: net.drop.eval(),
    "its own mode": lambda net: net.eval(),
}


@pytest.fixture(scope="module")
def net(replaced: Callable[..., KernelModule]) -> KernelModule:
    return replaced(Net(), (X,), "(x[i] > 0 ? x[i] : 0) * 2 + 1")


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_a_module_that_was_changed(change: str, net: KernelModule) -> None:
    copied = copy.deepcopy(net)
    for _ in range(2):
        torch.testing.assert_close(copied(X), net.original(X))
    served = copied.served
    assert served == net.served + 1, copied.passed_on
    original: Any = copied.original
    CHANGES[change](original)
    torch.testing.assert_close(copied(X), original(X))
    assert copied.served == served, "the kernel answered for another module"


@torch.no_grad()
def test_a_copy_made_of_a_changed_module_is_no_more_the_kernels(net: KernelModule) -> None:
    changed = copy.deepcopy(net)
    original: Any = changed.original
    original.scale = 7.0
    again = pickle.loads(pickle.dumps(changed))
    for _ in range(2):
        torch.testing.assert_close(again(X), X.relu() * 7 + 1)
    assert again.served == net.served


@torch.no_grad()
def test_a_mode_that_comes_back_is_the_kernels_again(net: KernelModule) -> None:
    copied = copy.deepcopy(net)
    copied(X)
    copied.eval()
    copied(X)
    copied.train()
    copied(X)
    assert copied.served == net.served + 1


@torch.no_grad()
def test_transforms_and_modes_of_torch_see_the_original(net: KernelModule) -> None:
    both = torch.stack([X, Y])
    torch.testing.assert_close(torch.vmap(net)(both), torch.vmap(net.original)(both))
    torch.testing.assert_close(torch.func.jvp(net, (X,), (Y,)), torch.func.jvp(net.original, (X,), (Y,)))
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(net(forward_ad.make_dual(X, Y))).tangent is not None


def sized(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    return torch.relu(x), x.shape[0]


def test_what_results_hold_beside_tensors_may_depend_on_sizes() -> None:
    kernel = relu_kernel()
    module = KernelModule(sized, kernel, built(kernel), RELU)
    for rows in (4, 3, 3, 4, 5, 5):
        assert module(torch.randn(rows))[1] == rows
    assert module.served == 3, module.passed_on


def test_calls_of_several_threads_do_not_meet(net: KernelModule) -> None:
    wrong = []

    def work(number: int) -> None:
        x = torch.full((6, 8), float(number))
        with torch.no_grad():
            wrong.extend(number for _ in range(500) if not bool((net(x) == 2 * number + 1).all()))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@torch.no_grad()
def test_a_kernel_that_cannot_be_loaded_is_the_originals(net: KernelModule) -> None:
    copied = copy.deepcopy(net)
    copied.build = copied.build.model_copy(update={"artifact": str(Path("gone") / "kernel.so")})
    for _ in range(2):
        torch.testing.assert_close(copied(X), net.original(X))
    assert any("cannot be loaded" in reason for reason in copied.passed_on)
