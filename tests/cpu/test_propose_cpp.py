"""C++ templates: kernels built with the real compiler and compared with torch, on shapes with awkward sizes.

Many functions share one kernel (one output each), because a build costs a second.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from propose_cases import CPU, function_proposals, problem_of, run_choice
from torch import Tensor, nn

from kernelwright.languages import build
from kernelwright.propose.proposals import Proposals
from kernelwright.propose.space import Space

Function = Callable[..., Tensor]
NAN, INF = float("nan"), float("inf")


def differences(functions: Sequence[Function], args: Sequence[Tensor], choices: int) -> None:
    """Run default and random choices of one kernel for all functions; compare each with float64."""

    def together(*args: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(*args) for function in functions)

    proposals = function_proposals(together, args)
    rng = random.Random(7)
    picked = [proposals.space.default(), *(proposals.space.random(rng) for _ in range(choices))]
    wide = [value.double() if value.is_floating_point() else value for value in args]
    expected, eager = together(*wide), together(*args)
    for choice in picked:
        for found, want, plain in zip(
            run_choice(proposals, choice, None, args), expected, eager, strict=True
        ):
            assert found.dtype == plain.dtype
            assert found.shape == plain.shape
            close(found, want, plain)


def close(found: Tensor, want: Tensor, plain: Tensor) -> None:
    """As near to float64 as eager is, give or take, and NaN and infinities in the same places."""
    if not found.is_floating_point():
        assert torch.equal(found, plain)
        return
    narrow = want.to(found.dtype)
    known = (narrow.isnan() == plain.isnan()) & (
        narrow.isinf() == plain.isinf()
    )  # eager has quirks of its own
    found, want, plain, narrow = found[known], want[known], plain[known], narrow[known]
    assert torch.equal(found.isnan(), narrow.isnan())
    finite = narrow.isfinite()
    assert torch.equal(found[~finite].nan_to_num(1.5), narrow[~finite].nan_to_num(1.5))
    error = (found.double() - want)[finite].norm()
    allowed = (plain.double() - want)[finite].norm()
    assert error <= 2 * allowed + 3e-7 * want[finite].norm() + 1e-30


POINTWISE: list[Function] = [
    lambda x, y: F.gelu(x) * y,
    lambda x, y: torch.sigmoid(x) + y,
    lambda x, y: torch.tanh(x) - y,
    lambda x, y: x / y,
    lambda x, y: torch.exp(x).clamp(0.1, 2),
    lambda x, y: torch.maximum(x, y),
    lambda x, y: torch.minimum(x, y),
    lambda x, y: torch.log(x),
    lambda x, y: torch.sqrt(x),
    lambda x, y: torch.where(x > y, x, -y),
    lambda x, y: (x > y) | (x == y),
    lambda x, y: F.softplus(x),
    lambda x, y: torch.relu(x) ** 3,
    lambda x, y: torch.sin(x) * torch.cos(y),
    lambda x, y: torch.expm1(x),
    lambda x, y: torch.fmod(x, y),
    lambda x, y: torch.remainder(x, y),
    lambda x, y: torch.round(x * 3),
    lambda x, y: torch.sign(x),
    lambda x, y: x.isnan(),
    lambda x, y: torch.pow(x.abs(), y),
    lambda x, y: torch.log1p(x.abs()),
    lambda x, y: F.elu(x),
]
FOLDS: list[Function] = [
    lambda x: x.sum(-1),
    lambda x: x.mean((0, 1)),
    lambda x: x.amax(1),
    lambda x: torch.softmax(x, -1),
    lambda x: torch.log_softmax(x, 1),
    lambda x: x.amin((1, 2)),
    lambda x: (x * x).mean(),
    lambda x: x - x.mean(1, keepdim=True),
    lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6),
    lambda x: x / x.norm(),
    lambda x: x.var((0, 2)),
    lambda x: x.transpose(0, 2).sum(1),
    lambda x: x.prod(2),
    lambda x: (x > 0).sum(0),
]


@pytest.mark.parametrize("shape", [(1, 1), (40, 1003)])
def test_pointwise(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    differences(POINTWISE, [torch.randn(shape) * 3, torch.randn(shape[1]) * 2], int(shape != (1, 1)))


def test_pointwise_at_special_values() -> None:
    special = torch.tensor(
        [0.0, -0.0, 1, -1, NAN, INF, -INF, 1e-40, -1e-40, 3e38, -3e38, 89, -104, 2.5, 0.5, 88.0]
    )
    x, y = (grid.contiguous() for grid in torch.meshgrid(special, special, indexing="ij"))
    differences(POINTWISE, [x, y], 0)


@pytest.mark.parametrize("shape", [(4, 1, 33), (7, 40, 300)])
def test_reductions(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(1)
    differences(FOLDS, [torch.randn(shape) + 0.5], 1)


def test_reductions_pass_on_nan_and_infinity() -> None:
    x = torch.randn(6, 8, 70)
    x[0, 1, 2], x[1, 1, 69], x[2, 0, 0], x[3] = NAN, INF, -INF, -INF
    differences(FOLDS, [x], 0)


def test_rows_divided_by_extreme_numbers() -> None:
    x = torch.rand(6, 70) + 0.5
    x *= torch.tensor([1e38, 1e-38, 1e-41, 1.0, 0.0, INF])[:, None] / 70
    functions: list[Function] = [
        lambda x: x / x.sum(-1, keepdim=True),
        lambda x: x / x.amax(-1, keepdim=True),
    ]
    differences(functions, [x], 1)


def test_one_long_row_is_shared_by_threads() -> None:
    torch.manual_seed(2)
    differences(
        [lambda x: torch.softmax(x, 0), lambda x: x.mean(), lambda x: x - x.amax()], [torch.rand(200_003)], 1
    )


def test_offset_data_keeps_its_variance() -> None:
    torch.manual_seed(3)
    functions: list[Function] = [lambda x: F.layer_norm(x, x.shape[-1:]), lambda x: x.var(0)]
    differences(functions, [torch.randn(3, 5, 1000) + 1000], 1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(dtype: torch.dtype) -> None:
    x = torch.randn(5, 67).to(dtype)
    functions: list[Function] = [
        F.gelu,
        lambda x: torch.softmax(x, -1),
        lambda x: x.sum(0),
        lambda x: x * 2 + 1,
    ]
    proposals = function_proposals(lambda x: tuple(f(x) for f in functions), [x])
    found = run_choice(proposals, proposals.space.default(), None, [x])
    for result, function in zip(found, functions, strict=True):
        torch.testing.assert_close(result, function(x.double()).to(dtype))


def test_integers_and_masks() -> None:
    x, mask = torch.randint(-9, 9, (13, 21)), torch.rand(13, 21) > 0.5
    functions: list[Function] = [
        lambda x, m: x * 2 + m,
        lambda x, m: torch.where(m, x, -1),
        lambda x, m: x.sum(1),
        lambda x, m: x.amax(0),
        lambda x, m: x / 2,
        lambda x, m: m.any(1),
        lambda x, m: x % 4,
        lambda x, m: m.sum(0),
    ]
    differences(functions, [x, mask], 0)


def test_strided_inputs_and_outputs() -> None:
    functions: list[Function] = [
        lambda x: x.transpose(0, 2) * 2,
        lambda x: x[:, 1:3] + 1,
        lambda x: x.permute(2, 0, 1).reshape(7, -1).sum(1),
        lambda x: x.select(1, 2).sum(0),
        lambda x: x + torch.arange(7),
        lambda x: torch.triu(x),
    ]
    differences(functions, [torch.randn(3, 4, 7)], 0)


def test_batch_norm_updates_its_statistics() -> None:
    module = nn.Sequential(nn.BatchNorm2d(5), nn.ReLU())
    x = torch.randn(6, 5, 9, 11)
    problem, captured = problem_of(module, [x])
    proposals = Proposals.open(problem, captured, CPU)
    found = run_choice(proposals, proposals.space.default(), module, [x])
    expected = module(x)
    torch.testing.assert_close(found[0], expected)
    for name, value in zip(problem.mutated, found[1:], strict=True):
        torch.testing.assert_close(value, module.state_dict()[name])


def test_equal_choices_make_equal_kernels_and_text_differs_with_them() -> None:
    proposals = function_proposals(lambda x: torch.relu(x), [torch.randn(100, 1000)])
    space: Space = proposals.space
    default = space.default()
    assert proposals.kernel(default).hash == proposals.kernel(default).hash
    texts = {proposals.kernel(choice).sources[0].text for choice in space.neighbors(default)}
    assert len(texts) == len(space.neighbors(default))


def test_a_template_builds_in_time() -> None:
    """The budget of a search is spent on builds before all else."""
    proposals = function_proposals(lambda x: torch.softmax(x, -1), [torch.randn(64, 1000)])
    built = build(proposals.kernel(proposals.space.default()), CPU)
    assert built.status == "built"
    assert built.seconds < 20
