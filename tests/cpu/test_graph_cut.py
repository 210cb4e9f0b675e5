"""The cut of a graph is right, by a plain interpreter, and keeps together what belongs together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from propose_cases import interpret, problem_of, traced
from torch import Tensor, nn

from kernelwright.core.errors import ProblemError
from kernelwright.graph.cut import Partition, cut
from kernelwright.graph.library_steps import LibraryStep

SIZES = st.sampled_from([1, 2, 3, 4, 6, 7])

UNARY: list[Callable[[Tensor], Tensor]] = [
    torch.relu,
    torch.sigmoid,
    torch.tanh,
    F.gelu,
    F.silu,
    torch.exp,
    torch.neg,
    torch.abs,
    lambda x: x.clamp(-0.5, 0.5),
    lambda x: x**2,
    lambda x: x**3,
    lambda x: 1.5 - x,
    lambda x: torch.where(x > 0, x, 0.1 * x),
    F.hardswish,
    F.softplus,
    lambda x: F.leaky_relu(x, 0.2),
    F.elu,
    lambda x: (x > 0).float(),
    lambda x: x + 1,
]
SHAPED: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.transpose(0, 1),
    lambda x: x.reshape(-1),
    lambda x: x.flatten(0, 1),
    lambda x: x.unsqueeze(1),
    lambda x: x.mean(-1, keepdim=True),
    lambda x: x.sum(0),
    lambda x: x.amax(1, keepdim=True),
    lambda x: x - x.mean(0),
    lambda x: torch.softmax(x, -1),
    lambda x: torch.log_softmax(x, 0),
    lambda x: x - x.amin(-1, keepdim=True),
    lambda x: x / (x.norm() + 1),
    lambda x: x.expand(*x.shape) * 2,
    lambda x: x[1:] if x.shape[0] > 1 else x,
    lambda x: x.select(0, x.shape[0] - 1),
    lambda x: x.permute(*reversed(range(x.dim()))),
    lambda x: x.std(-1, correction=0),
]


def check_function(function: Callable[..., Tensor], args: list[Tensor]) -> Partition:
    """Interpret the partition of a pure function and compare with eager."""
    partition = cut(traced(function, args), {})
    found = interpret(partition, {f"x{at}": value for at, value in enumerate(args)})
    expected = function(*args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    names = ["out"] if len(expected) == 1 else [f"out{at}" for at in range(len(expected))]
    for name, value in zip(names, expected, strict=True):
        result = found[name].reshape(value.shape)
        torch.testing.assert_close(result, value, equal_nan=True, rtol=2e-5, atol=2e-6)
    return partition


def check(module: Callable[..., Tensor], args: list[Tensor]) -> Partition:
    """Interpret the partition of `module` and compare with eager."""
    problem, captured = problem_of(module, args)
    partition = cut(captured, {})
    tensors = {spec.name: value for spec, value in zip(problem.inputs, args, strict=True)}
    if isinstance(module, nn.Module):
        tensors |= {name: value.clone() for name, value in module.state_dict().items()}
    expected = module(*args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = interpret(partition, tensors)
    for spec, value in zip(problem.outputs, expected, strict=True):
        torch.testing.assert_close(
            found[spec.name].reshape(value.shape), value, equal_nan=True, rtol=2e-5, atol=2e-6
        )
    if isinstance(module, nn.Module):
        for name in problem.mutated:
            value = module.state_dict()[name]
            torch.testing.assert_close(found[name].reshape(value.shape), value)
    return partition


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(SIZES, min_size=2, max_size=4),
    st.lists(st.one_of(st.sampled_from(UNARY), st.sampled_from(SHAPED)), min_size=1, max_size=5),
    st.integers(0, 99),
)
def test_random_chains(shape: list[int], chain: list[Callable[[Tensor], Tensor]], seed: int) -> None:
    def function(x: Tensor) -> Tensor:
        for step in chain:
            if x.dim() < 2 and step in SHAPED:
                continue
            x = step(x)
        return x

    torch.manual_seed(seed)
    x = torch.randn(shape)
    if function(x) is not x:
        assume(
            bool((function(x).abs() < 1e4).all())
        )  # what is larger has been an exponent, and is ill-conditioned
    check_function(function, [x])


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_broadcasting(shape: list[int], data: st.DataObject) -> None:
    other = [data.draw(st.sampled_from([1, size])) for size in shape]
    other = other[data.draw(st.integers(0, len(shape))) :]
    x, y = torch.randn(shape), torch.randn(other)
    check_function(lambda x, y: torch.maximum(x * y, y) + x.sum(-1, keepdim=True), [x, y])


@pytest.mark.parametrize(
    ("module", "shape", "regions"),
    [
        (nn.LayerNorm(6), (4, 5, 6), 1),
        (nn.GroupNorm(2, 6), (3, 6, 4, 5), 1),
        (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 5), 1),
        (nn.Sequential(nn.GroupNorm(2, 6), nn.SiLU()), (3, 6, 4, 5), 1),
        (nn.Softmax(-1), (2, 3, 7), 1),
        (nn.Softmax(1), (2, 5, 7), 1),
        (nn.Sequential(nn.BatchNorm2d(3), nn.ReLU()), (4, 3, 5, 2), 2),
        (nn.Sequential(nn.BatchNorm2d(3).eval(), nn.ReLU()), (4, 3, 5, 2), 1),
        (nn.Sequential(nn.LayerNorm(6), nn.GELU(), nn.Softmax(-1)), (4, 6), 1),
        (nn.Sequential(nn.Softmax(0), nn.Softmax(1)), (4, 6), 2),
    ],
)
def test_modules_become_few_regions(module: nn.Module, shape: tuple[int, ...], regions: int) -> None:
    assert len(check(module, [torch.randn(shape)]).regions) == regions


def test_channel_norm_has_three_loops() -> None:
    module = nn.BatchNorm2d(3)
    _, captured = problem_of(module, [torch.randn(4, 3, 5, 2)])
    region = max(cut(captured, {}).regions, key=lambda region: len(region.dims))
    assert [dim.extent for dim in region.dims] == [4, 3, 10]
    assert region.reduced == {0, 2}


def test_contiguous_pointwise_is_one_loop() -> None:
    region = check_function(lambda x, y: F.silu(x) * y, [torch.randn(3, 4, 5), torch.randn(3, 4, 5)]).regions[
        0
    ]
    assert [dim.extent for dim in region.dims] == [60]


def test_siblings_that_read_the_same_tensor_share_a_nest() -> None:
    partition = check_function(lambda x: (x.sum(0), (x * x).sum(0), x.amax(0)), [torch.randn(6, 5)])
    assert len(partition.regions) == 1


def test_transposed_sum_keeps_its_loops_apart() -> None:
    check_function(lambda x: x + x.t(), [torch.randn(5, 5)])


def test_products_stay_library_calls() -> None:
    _, captured = problem_of(nn.Sequential(nn.Linear(4, 8), nn.GELU()), [torch.randn(3, 4)])
    partition = cut(captured, {"batch": 3})
    first, second = partition.steps
    assert isinstance(first, LibraryStep)
    assert first.op == "aten.addmm.out"
    assert first.inputs[2] == {"buffer": "0.weight", "shape": [4, 8], "strides": [1, 4], "offset": 0}
    assert second.nodes
    assert partition.domain == "batch == 3"


def test_no_merge_runs_in_a_circle() -> None:
    """exp(x) feeds a product and what is added to the product: the three cannot be one nest."""

    def function(x: Tensor) -> Tensor:
        y = torch.exp(x)
        return y + y @ y

    _, captured = problem_of(function, [torch.randn(3, 3)])
    kinds = [type(step).__name__ for step in cut(captured, {}).steps]
    assert kinds == ["Region", "LibraryStep", "Region"]


def test_an_output_that_is_the_input() -> None:
    check_function(lambda x: (x, x + 1, x.t()), [torch.randn(3, 4)])


def test_one_value_as_two_outputs() -> None:
    check_function(lambda x: (y := x * 2, y, y.reshape(-1)), [torch.randn(3, 4)])


def test_outputs_that_are_views_of_what_is_computed() -> None:
    check_function(
        lambda x: ((y := torch.exp(x))[1:], y.t(), y.t().reshape(2, 6), y.expand(2, 3, 4)),
        [torch.randn(3, 4)],
    )


def test_integers_and_masks() -> None:
    x, mask = torch.randint(-5, 5, (4, 6)), torch.rand(4, 6) > 0.5
    check_function(
        lambda x, m: (x * 2 + m, torch.where(m, x, -1), (x > 0) & m, x.sum(1), x / 2, m.any(1)), [x, mask]
    )


def test_costly_work_on_a_small_tensor_is_done_once() -> None:
    x, bias = torch.randn(40, 6), torch.randn(6)
    assert len(check_function(lambda x, b: x * torch.tanh(b), [x, bias]).regions) == 2
    assert len(check_function(lambda x, b: x * (b + 1), [x, bias]).regions) == 1
    assert (
        len(check_function(lambda x, b: x * torch.tanh(b)[:, None], [torch.randn(6, 40), bias]).regions) == 1
    )


def test_positions_are_loop_indexes() -> None:
    functions = (lambda x: x + torch.arange(12, dtype=torch.float32), lambda x: torch.tril(x * 2))
    for function in functions:
        assert len(check_function(function, [torch.randn(12, 12)]).regions) == 1
    check_function(lambda x: x + torch.arange(1, 13, 2).reshape(2, 3), [torch.randn(4, 2, 3)])


def test_random_numbers_are_refused() -> None:
    _, captured = problem_of(nn.Dropout(0.5), [torch.randn(4, 4)])
    with pytest.raises(ProblemError, match="random"):
        cut(captured, {})
