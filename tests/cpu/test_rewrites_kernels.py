"""Kernels of rewritten graphs, built and run beside torch: weights change, values are not finite."""

from __future__ import annotations

import copy

import pytest
import torch
from propose_cases import CPU, problem_of
from torch import Tensor, nn

from kernelwright.core.plan import Plan
from kernelwright.execute.runner import Runner
from kernelwright.languages import build
from kernelwright.propose.forms import open_forms
from kernelwright.propose.proposals import Proposals


class SumOfLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(48, 64)

    def forward(self, x: Tensor) -> Tensor:
        return torch.logsumexp((self.linear(x) / 2).sum(1, keepdim=True), 1, keepdim=True)


class MeanOfTransposed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ConvTranspose2d(6, 16, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.layer(x).mean((2, 3), keepdim=True) * 3)


class Normed(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8))
        self[1].running_mean.uniform_(-1, 1)
        self[1].running_var.uniform_(0.5, 2)
        nn.init.normal_(self[1].weight)
        nn.init.normal_(self[1].bias)
        self.eval()


class Diagonal(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.diag(a) @ b


CASES = {
    "sum of a linear layer": (SumOfLinear, [(96, 48)], True),
    "mean of a transposed convolution": (MeanOfTransposed, [(4, 6, 9, 10)], True),
    "batch norm": (Normed, [(4, 3, 32, 32)], True),
    "diagonal": (Diagonal, [(64,), (64, 40)], False),
}


def opened(module: nn.Module, args: list[Tensor]) -> Proposals:
    problem, captured = problem_of(module, args)
    found = open_forms(problem, captured, CPU)
    return found.rewritten or found


def close(found: Tensor, module: nn.Module, args: list[Tensor]) -> None:
    want = copy.deepcopy(module).double()(*(value.double() for value in args))
    plain = module(*args)
    assert found.shape == plain.shape
    error, eager = ((value.double() - want).norm() for value in (found, plain))
    assert error <= 2 * eager + 1e-6 * want.norm()


@pytest.mark.parametrize("name", CASES)
def test_a_rewritten_kernel_computes_the_same_for_any_weights(name: str) -> None:
    make, shapes, weighted = CASES[name]
    module, args = make(), [torch.randn(shape) for shape in shapes]
    proposals = opened(module, args)
    assert proposals.rules
    kernel = proposals.kernel(proposals.space.default())
    assert kernel.plan is not None
    check_prepared(kernel.plan, weighted)
    built = build(kernel, CPU)
    assert built.status == "built", built.log
    runner = Runner(kernel, built, proposals.problem, {}, "cpu")
    for _ in range(2):
        runner.prepare(dict(module.state_dict()))
        with torch.no_grad():
            close(runner.run(args)[0], module, args)
            for value in module.state_dict().values():
                if value.is_floating_point():
                    value.mul_(1.5)
            args = [value * 0.5 for value in args]


def check_prepared(plan: Plan, weighted: bool) -> None:
    """Weights alone are worked on in `prepare`, and only where there are some."""
    assert bool(plan.prepare) == weighted
    assert any(buffer.role == "prepared" for buffer in plan.buffers) == weighted


def test_a_diagonal_kernel_has_nan_where_the_product_has() -> None:
    args = [torch.randn(64), torch.randn(64, 40)]
    args[1][3, 5], args[1][9, 5], args[1][2, 7], args[0][4] = float("inf"), 1.0, float("nan"), float("inf")
    proposals = opened(Diagonal(), args)
    kernel = proposals.kernel(proposals.space.default())
    built = build(kernel, CPU)
    runner = Runner(kernel, built, proposals.problem, {}, "cpu")
    runner.prepare({})
    found, want = runner.run(args)[0], torch.diag(args[0]) @ args[1]
    assert torch.equal(found.isnan(), want.isnan())
    torch.testing.assert_close(found, want, equal_nan=True)


def test_weights_that_a_call_changes_are_not_prepared() -> None:
    """Batch norm in training reads running statistics and writes them."""
    module = nn.Sequential(nn.BatchNorm1d(16), nn.Linear(16, 64)).train()
    proposals = Proposals.open(*problem_of(module, [torch.randn(32, 16)]), CPU, prepares=True)
    plan = proposals.kernel(proposals.space.default()).plan
    assert plan is not None
    roles = {buffer.name: buffer.role for buffer in plan.buffers}
    assert roles["0.running_mean"] == "mutated"
    assert plan.prepare == ()


def test_both_graphs_are_in_one_space() -> None:
    module, args = SumOfLinear(), [torch.randn(96, 48)]
    problem, captured = problem_of(module, args)
    found = open_forms(problem, captured, CPU)
    assert found.rewritten is not None
    (start,) = found.starts
    assert start["graph"] == "rewritten"
    written, other = found.kernel(found.space.default()), found.kernel(start)
    assert written.hash == Proposals.open(problem, captured, CPU).kernel(found.space.default()).hash
    assert other.hash == found.rewritten.kernel(found.rewritten.space.default()).hash != written.hash
    assert found.space.complete(other.proposer.parameters) == start


def test_a_graph_that_gains_nothing_is_proposed_once() -> None:
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.ReLU())
    problem, captured = problem_of(module, [torch.randn(4, 8)])
    found = open_forms(problem, captured, CPU)
    assert found.rewritten is None
    assert found.starts == () and found.rules == ()
