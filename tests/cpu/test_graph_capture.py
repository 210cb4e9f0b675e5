"""Captured graphs: who the placeholders are, and that each graph computes what the module does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from kernelwright.core.errors import ProblemError
from kernelwright.graph.capture import Captured, capture, module_tensors, trace_structure
from kernelwright.graph.cost import cost, is_fusable
from kernelwright.graph.oracle import oracle, retyped_module

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "elu": F.elu,
    "selu": F.selu,
    "leaky_relu": F.leaky_relu,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "softplus": F.softplus,
    "logsigmoid": F.logsigmoid,
    "glu": lambda x: F.glu(x, 1),
    "softmax": lambda x: F.softmax(x, 1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "var": lambda x: x.var((2, 3), keepdim=True),
    "var_of_all": lambda x: x.var(),
    "std": lambda x: x.std(1),
    "var_mean": lambda x: torch.var_mean(x, 1, correction=0)[0],
    "norm": lambda x: x / x.norm(dim=1, keepdim=True),
    "norm_1": lambda x: x.norm(p=1, dim=(1, 2)),
    "norm_inf": lambda x: x.norm(p=float("inf")),
    "max": lambda x: x.max(1)[0],
    "min_of_all": lambda x: x.min(),
    "mean": lambda x: x.mean(),
    "logsumexp": lambda x: torch.logsumexp(x, 2),
    "layer_norm": lambda x: F.layer_norm(x, (4, 5)),
    "group_norm": lambda x: F.group_norm(x, 3),
    "instance_norm": F.instance_norm,
    "rms_norm": lambda x: F.rms_norm(x, (5,)),
    "half": lambda x: F.gelu(x.half()).float() + F.softmax(x.half(), 1),
    "bfloat16_norm": lambda x: F.layer_norm(x.bfloat16(), (5,)),
}


def decomposed(captured: Captured, inputs: list[torch.Tensor], weights: dict[str, torch.Tensor]) -> list[Any]:
    """Results of the decomposed graph: outputs, then mutated by name."""
    values = []
    for known in captured.placeholders.values():
        values.append(
            {"input": lambda k: inputs[k.index], "weight": lambda k: weights[k.name]}[known.kind](known)
        )
    results = captured.graph_module(*values)
    pairs = sorted(zip(captured.returned, results, strict=True), key=lambda pair: pair[0])
    return [value for _, value in pairs]


def close(a: torch.Tensor, b: torch.Tensor, tolerance: float = 1e-5) -> None:
    assert a.shape == b.shape
    torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_decomposed_graph_computes_the_same_and_is_all_loops(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 6, 4, 5)
    captured = capture(FUNCTIONS[name], [x])
    expected = FUNCTIONS[name](x)
    (found,) = decomposed(captured, [x], {})
    assert found.dtype == expected.dtype
    close(found, expected, 2e-2 if name in ("half", "bfloat16_norm") else 1e-5)
    assert [str(node.target) for node in captured.nodes if not is_fusable(node)] == []


@pytest.mark.parametrize(
    "name", ["gelu", "silu", "elu", "hardswish", "softmax", "log_softmax", "max", "layer_norm"]
)
def test_nonfinite_values_go_where_float64_sends_them(name: str) -> None:
    x = torch.randn(4, 6, 4, 5)
    x[0, 0, 0, 0], x[1, 0, 0, 0], x[2, 0, 0, 0], x[3, 0, 0, 0] = (
        float("nan"),
        float("inf"),
        float("-inf"),
        1e10,
    )
    (found,) = decomposed(capture(FUNCTIONS[name], [x]), [x], {})
    close(found, FUNCTIONS[name](x.double()))


def test_variance_is_taken_in_two_passes() -> None:
    x = torch.randn(64, 1024) + 1000
    (found,) = decomposed(capture(lambda x: F.layer_norm(x, (1024,)), [x]), [x], {})
    close(found, F.layer_norm(x.double(), (1024,)), 1e-3)


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4)),
    st.sampled_from([0, 1, -1, (0, 2), None]),
)
@settings(max_examples=5, deadline=None)
def test_variance_over_any_dimensions(shape: tuple[int, ...], dims: Any) -> None:
    x = torch.randn(shape)
    captured = capture(lambda x: x.var(dims, correction=0), [x])
    (found,) = decomposed(captured, [x], {})
    close(found, x.double().var(dims, correction=0))


def test_batch_norm_in_training_mutates_its_statistics() -> None:
    module = nn.BatchNorm2d(6)
    x = torch.randn(2, 6, 4, 5)
    before = {name: tensor.detach().clone() for name, tensor in module_tensors(module).items()}
    captured = capture(module, [x])
    assert list(captured.mutations) == ["num_batches_tracked", "running_mean", "running_var"]
    wide = oracle(captured)([x], before)
    found = decomposed(captured, [x], before)
    with torch.no_grad():
        expected = [module(x), *(module_tensors(module)[name] for name in captured.mutations)]
    for a, b, c in zip(expected, found, wide, strict=True):
        close(a, b)
        close(a, c)
    assert int(expected[1]) == 1


def test_placeholders_say_what_they_are() -> None:
    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4, bias=False)
            self.tied = self.linear.weight
            self.table = torch.arange(4.0)

        def forward(self, x: torch.Tensor, power: int, rest: list[torch.Tensor]) -> Any:
            return self.linear(x) ** power + self.table + rest[1] + torch.tensor(2.0), x, None

    captured = capture(Module(), [torch.randn(3, 4), 2, [torch.zeros(4), torch.ones(4)]])
    known = {(p.kind, p.name) for p in captured.placeholders.values()}
    assert {("weight", "tied"), ("weight", "table"), ("input", "x"), ("input", "rest_1")} <= known
    assert [p.index for p in captured.placeholders.values() if p.kind == "input"] == [0, 1, 2]
    (constant,) = [p.tensor for p in captured.placeholders.values() if p.kind == "constant"]
    assert constant is not None and float(constant) == 2.0
    assert captured.outputs[1].op == "placeholder"
    assert captured.outputs[2] is None


def test_signature_is_of_the_structure() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.reshape(x.shape[0], -1, 2) / x.shape[0]).softmax(1)

    one, two = capture(function, [torch.randn(4, 6)]), capture(function, [torch.randn(5, 8)])
    assert one.signature == two.signature
    assert one.signature != capture(lambda x: function(x) + 1, [torch.randn(4, 6)]).signature
    other = capture(lambda x: (x.reshape(x.shape[0], -1, 2) / x.shape[0]).softmax(2), [torch.randn(4, 6)])
    assert one.signature != other.signature
    assert trace_structure(function, [torch.randn(4, 6)]) == trace_structure(function, [torch.randn(3, 2)])


def test_random_operations_are_seen() -> None:
    x = torch.randn(8, 8)
    assert capture(nn.Dropout(0.5), [x]).random
    assert capture(lambda x: x + torch.rand_like(x), [x]).random
    assert not capture(nn.Dropout(0.0), [x]).random
    assert not capture(nn.Dropout(0.5).eval(), [x]).random


@pytest.mark.parametrize(
    "function",
    [
        nn.Dropout(0.3),
        lambda x: x + torch.rand_like(x),
        lambda x: x * torch.bernoulli(torch.full((64, 64), 0.5)),
    ],
)
def test_oracle_draws_what_eager_draws(function: Callable[..., torch.Tensor]) -> None:
    x = torch.randn(64, 64)
    wide = oracle(capture(function, [x]))
    torch.manual_seed(11)
    expected = function(x)
    torch.manual_seed(11)
    (found,) = wide([x], {})
    close(found, expected)


def test_oracle_is_in_float64_and_leaves_its_arguments() -> None:
    def function(x: torch.Tensor) -> Any:
        zeros = torch.zeros(4, dtype=torch.float32, device=x.device)
        return (x.to(torch.bfloat16).float() + zeros).sum() + 0.1, x.argmax(), x.half().cumsum(0)

    x = torch.rand(4) + 1e-6
    kept = x.clone()
    total, index, sums = oracle(capture(function, [x]))([x], {})
    assert (total.dtype, index.dtype, sums.dtype) == (torch.float64, torch.int64, torch.float64)
    assert float(total) == float(x.double().sum() + 0.1)
    assert torch.equal(x, kept) and x.dtype == torch.float32
    assert torch.get_default_dtype() == torch.float32


def test_oracle_of_a_module_that_cannot_be_captured() -> None:
    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(x) if float(x.sum()) > -1e9 else x

    module, x = Module(), torch.randn(8, 4)
    with pytest.raises(ProblemError, match="cannot trace"):
        capture(module, [x])
    weights = {name: tensor.detach().clone() for name, tensor in module_tensors(module).items()}
    found = retyped_module(module, ["norm.running_mean"])([x], weights)
    assert [tensor.dtype for tensor in found] == [torch.float64, torch.float64]
    with torch.no_grad():
        close(found[0], module(x))
    close(found[1], module.norm.running_mean)


def test_running_statistics_that_torch_loses_are_refused() -> None:
    with pytest.raises(ProblemError, match="running statistics"):
        capture(nn.InstanceNorm2d(3, track_running_stats=True), [torch.randn(2, 3, 4, 4)])


def test_capture_runs_on_shapes_alone() -> None:
    with torch.device("meta"):
        module, x = nn.Linear(1 << 20, 1 << 20), torch.empty(1 << 20, 1 << 20)
    assert len(capture(module, [x]).outputs) == 1


X = torch.empty(8, 6, 4, device="meta")
BYTES = X.numel() * 4


@pytest.mark.parametrize(
    ("function", "compulsory"),
    [
        (lambda x: x + 1, 2 * BYTES),
        (lambda x: x.sum(), BYTES + 4),
        (lambda x: torch.zeros_like(x), BYTES),
        (lambda x: x * 0, BYTES),
        (lambda x: x - x, BYTES),
        (lambda x: x[:2] + 1, BYTES // 2),
        (lambda x: x[0] + x[5], BYTES // 8 * 3),
        (lambda x: x.chunk(2, 1)[0] * x.chunk(2, 1)[1], BYTES + BYTES // 2),
        (lambda x: torch.stack([part * 2 for part in x.unbind(0)]).sum(), BYTES + 4),
        (lambda x: torch.where(x > 0, x, x * 2), 2 * BYTES),
        (lambda x: x.relu().max(1)[0], BYTES + BYTES // 6),
        (lambda x: x[torch.tensor([0, 0])].clone(), BYTES // 4),
        (lambda x: F.max_pool1d(x, 2, 4), BYTES // 4 + BYTES // 2),
        (lambda x: x.transpose(0, 1), 0 + BYTES),
        (lambda x: x.expand(5, 8, 6, 4) * 1.0, 6 * BYTES),
    ],
)
def test_compulsory_bytes_are_a_lower_bound(function: Callable[..., Any], compulsory: int) -> None:
    counted = cost(capture(function, [X])).compulsory_bytes
    constants = 16  # of the index tensor, where there is one
    assert counted <= compulsory + constants
    assert counted >= compulsory


def test_unused_argument_is_not_compulsory() -> None:
    assert cost(capture(lambda x, y: x + y.shape[0], [X, X])).compulsory_bytes == 2 * BYTES


def test_operations_are_counted() -> None:
    linear = cost(capture(nn.Linear(32, 16, device="meta"), [torch.empty(8, 32, device="meta")]))
    assert linear.flops == 2 * 8 * 32 * 16
    assert linear.bytes_as_written == 4 * (8 * 32 + 32 * 16 + 16 + 8 * 16)
    chain = cost(capture(lambda x: (x + 1).relu(), [X]))
    assert chain.flops == 2 * X.numel()
    assert chain.bytes_as_written == 4 * BYTES
    assert chain.fused_bytes == 2 * BYTES


def test_library_intermediates_stay_in_the_fused_estimate() -> None:
    linear = nn.Linear(4, 32, device="meta")
    found = cost(capture(lambda x: F.gelu(F.linear(x, linear.weight)), [X]))
    product = 8 * 6 * 32 * 4
    assert found.fused_bytes == BYTES + 32 * 4 * 4 + 3 * product
    assert found.compulsory_bytes == BYTES + 32 * 4 * 4 + product
