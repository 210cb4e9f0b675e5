"""The precision contract on tensors: honest variants pass, borrowed precision and wrong answers do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernelwright.graph.capture import capture
from kernelwright.graph.oracle import oracle
from kernelwright.problems.draw import DRAWS, fill
from kernelwright.verify.bounds import Counts, Envelope, magnitude_bins
from kernelwright.verify.counts import operation_counts
from kernelwright.verify.expectation import Expectation, expect
from kernelwright.verify.judge import POISON, judge
from kernelwright.verify.truth import Yardstick, truth

Function = Callable[[Tensor], Tensor]


def expected(function: Function, x: Tensor, reduction: int = 1, roundings: int = 1) -> Expectation:
    counts, eager = Counts(reduction, roundings), function(x)
    yardstick = Yardstick(lambda args, weights, jitter=0.0: [function(args[0].double())], counts)
    (oracle,), (moved,) = truth(yardstick, [x], {}, [eager], seed=7)
    return expect("out", eager, oracle, moved, counts.factor)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def layer_norm(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def bf16(x: Tensor) -> Tensor:
    return x.bfloat16().to(x.dtype)


def tf32(x: Tensor) -> Tensor:
    """Keep ten explicit bits of the mantissa, rounded to nearest."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 1000))
def test_another_order_of_summation_is_as_good(rows: int, columns: int, seed: int) -> None:
    x = normal(rows, columns, seed=seed)
    wanted = expected(lambda t: t.sum(-1), x, columns)
    in_order = torch.zeros(rows)
    for column in range(columns):
        in_order += x[:, column]
    assert judge(x.flip(-1).sum(-1), wanted).kind is None
    assert judge(x.double().sum(-1).float(), wanted).kind is None
    if columns <= 64:
        assert judge(in_order, wanted).kind is None


@settings(deadline=None)
@given(st.integers(2, 30), st.integers(8, 300), st.floats(-1e4, 1e4), st.integers(0, 1000))
def test_layer_norm_by_other_formulas(rows: int, columns: int, offset: float, seed: int) -> None:
    x = normal(rows, columns, seed=seed) + offset
    wanted = expected(layer_norm, x, columns, 9)
    mean = x.mean(-1, keepdim=True)
    spread = ((x - mean) ** 2).mean(-1, keepdim=True)
    assert judge((x - mean) / torch.sqrt(spread + 1e-5), wanted).kind is None


def batch_norm_relu(x: Tensor) -> Tensor:
    return torch.relu(torch.nn.functional.batch_norm(x, None, None, training=True))


def batch_norm_relu_by_hand(x: Tensor) -> Tensor:
    """Two passes over columns, sums in order, one product with the reciprocal."""
    mean = x.cumsum(0)[-1] / len(x)
    scale = 1 / torch.sqrt((x - mean).square().cumsum(0)[-1] / len(x) + 1e-5)
    return torch.relu((x - mean) * scale)


@pytest.mark.parametrize("draw", sorted(set(DRAWS) - {"nonfinite", "huge"}))
def test_no_honest_kernel_is_refused_for_a_kink(draw: str) -> None:
    """Near the kink of a ReLU an element is zero or not by one roundoff: 60 draws, none refused."""
    x = torch.empty(64, 128)
    for seed in range(60):
        fill(x, draw, seed)
        found = judge(batch_norm_relu_by_hand(x), expected(batch_norm_relu, x, 64, 7))
        assert found.kind is None, (seed, found.message)


def test_naive_variance_on_offset_data_is_refused() -> None:
    x = normal(64, 1024) + 300.0
    wanted = expected(layer_norm, x, 1024, 9)
    mean = x.mean(-1, keepdim=True)
    naive = (x * x).mean(-1, keepdim=True) - mean * mean
    finding = judge((x - mean) * torch.rsqrt(naive + 1e-5), wanted)
    assert finding.kind is not None


@pytest.mark.parametrize("narrow", [bf16, tf32, lambda x: x.half().float()], ids=["bf16", "tf32", "fp16"])
@pytest.mark.parametrize("inner", [16, 256, 4096])
def test_products_in_lower_precision_are_refused(narrow: Function, inner: int) -> None:
    weight = normal(inner, 48, seed=3)
    x = normal(32, inner, seed=4)
    wanted = expected(lambda t: t @ weight.to(t.dtype), x, inner)
    assert judge(x.flip(1) @ weight.flip(0), wanted).kind is None
    finding = judge(narrow(x) @ narrow(weight), wanted)
    assert finding.kind == "precision"
    assert finding.figures["ratio_to_eager"] > 10


@pytest.mark.parametrize("function", [softmax, layer_norm, torch.nn.functional.gelu, torch.exp])
def test_arithmetic_in_half_precision_is_refused(function: Function) -> None:
    x = normal(64, 512)
    finding = judge(function(x.half()).float(), expected(function, x, 512, 8))
    assert finding.kind == "precision"


def test_half_precision_outputs_have_their_own_unit() -> None:
    x = normal(64, 512).half()
    wanted = expected(softmax, x, 512, 4)
    assert judge(softmax(x.float()).half(), wanted).kind is None
    assert judge((softmax(x.float()) * 1.05).half(), wanted).kind is not None


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (lambda y: y * 0, "answer"),
        (lambda y: y.flip(-1), "answer"),
        (lambda y: torch.full_like(y, math.nan), "answer"),
        (lambda y: y.double(), "contract"),
        (lambda y: y[:-1], "contract"),
        (lambda y: y * (1 + 1e-5), "precision"),
    ],
    ids=["zeros", "flipped", "nan", "dtype", "shape", "biased"],
)
def test_wrong_answers_by_kind(spoil: Function, kind: str) -> None:
    x = normal(64, 100)
    assert judge(spoil(softmax(x)), expected(softmax, x, 100, 4)).kind == kind


def test_one_wrong_element_among_a_million() -> None:
    x = normal(1_000_000)
    wanted = expected(torch.relu, x)
    output = torch.relu(x)
    output[777_777] += 1e-3
    finding = judge(output, wanted)
    assert finding.kind is not None
    assert finding.figures["where"] == [777_777]


def test_elements_that_were_never_written_are_counted() -> None:
    x = normal(4, 1000)
    output = softmax(x)
    output[-1].view(torch.uint8)[-12:] = POISON
    finding = judge(output, expected(softmax, x, 1000, 4))
    assert finding.kind == "answer"
    assert finding.figures["never_written"] == 3


def test_values_that_are_not_finite_must_be_where_eager_has_them() -> None:
    x = normal(16, 64)
    x[1, 1], x[2, 2], x[3, 3] = math.nan, math.inf, -math.inf
    wanted = expected(softmax, x, 64, 4)
    assert judge(softmax(x), wanted).kind is None
    assert judge(torch.nan_to_num(softmax(x)), wanted).kind == "answer"
    relu = expected(torch.relu, x)
    assert judge(torch.relu(x), relu).kind is None
    without_nan = torch.where(x > 0, x, 0.0)
    assert judge(without_nan, relu).kind == "answer"


def test_overflow_that_the_reference_has_not_is_refused() -> None:
    x = normal(8, 64) * 100
    wanted = expected(softmax, x, 64, 4)
    unshifted = torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)
    assert not bool(torch.isfinite(unshifted).all())
    assert judge(unshifted, wanted).kind == "answer"


def test_a_kernel_may_be_finite_where_only_eager_overflows() -> None:
    x = torch.full((4,), 3e38)
    wanted = expected(lambda t: (t * 4) / 8, x, roundings=2)
    assert bool(torch.isinf(wanted.eager).all())
    assert judge(x / 2, wanted).kind is None
    assert judge((x * 4) / 8, wanted).kind is None
    assert judge(-x / 2, wanted).kind == "answer"


def test_integers_are_equal_or_wrong() -> None:
    x = normal(32, 100)
    wanted = expected(lambda t: t.argmax(-1), x)
    assert judge(x.argmax(-1), wanted).kind is None
    assert judge(x.argmax(-1) + (torch.arange(32) == 5), wanted).kind == "answer"


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_empty_and_scalar_outputs(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    assert judge(torch.exp(x), expected(torch.exp, x)).kind is None


def envelope(values: list[float], errors: list[float], like: int) -> list[float]:
    found = Envelope(like)
    tensor = torch.tensor(values, dtype=torch.float64)
    found.add(tensor, torch.tensor(errors, dtype=torch.float64))
    return [float(each) for each in found.table()[magnitude_bins(tensor)]]


@settings(deadline=None)
@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=50), st.integers(1, 20))
def test_an_envelope_never_lies_below_the_error_itself(values: list[float], like: int) -> None:
    errors = [float(number) for number in range(len(values))]
    assert all(found >= error for found, error in zip(envelope(values, errors, like), errors, strict=True))


def test_a_magnitude_that_was_not_looked_at_has_its_neighbours_envelope() -> None:
    found = Envelope(1)
    found.add(*torch.tensor([[1e-6, 1.0], [1e-8, 0.5]], dtype=torch.float64))
    rare = torch.tensor([1e-9, 1e-5, 0.1, 1e9, 0.0], dtype=torch.float64)
    assert found.table()[magnitude_bins(rare)].tolist() == [1e-8, 1e-8, 0.5, 0.5, 0.0]


def test_exact_zeros_borrow_no_error() -> None:
    assert envelope([0.0, 1.0, 1.5], [0.0, 0.25, 0.5], 1024) == [0.0, 0.5, 0.5]


def test_errors_of_far_magnitudes_are_kept_apart() -> None:
    values = [1e-6] * 2000 + [1.0] * 2000 + [1e6] * 2000
    errors = [1e-13] * 2000 + [1e-7] * 2000 + [0.1] * 2000
    assert envelope(values, errors, 1000) == errors
    assert envelope(values, errors, 3000)[0] == 1e-7


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_judging_changes_neither_outputs_nor_what_is_expected(dtype: torch.dtype) -> None:
    x = normal(40, 30).to(dtype)
    x[3, 4], x[5, 6] = float("inf"), float("nan")
    output = torch.softmax(x, -1)
    wanted = expected(softmax, x, 30, 4)
    assert torch.equal(wanted.eager.nan_to_num(), output.nan_to_num())
    before = output.clone()
    assert judge(output, wanted).kind is None
    assert torch.equal(output.nan_to_num(), before.nan_to_num())


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-100, 1.0, 1e100, 1e200])
def test_another_order_is_as_good_at_every_magnitude(size: float) -> None:
    x = normal(24, 300).double() * size
    wanted = expected(lambda t: t.sum(-1), x, 300, 1)
    assert judge(x.flip(1).sum(-1), wanted).kind is None
    assert judge(x.cumsum(-1)[:, -1], wanted).kind is None
    assert (
        judge(x.float().sum(-1).double() if 1e-30 < size < 1e30 else x[:, 1:].sum(-1), wanted).kind
        is not None
    )


def test_infinities_that_did_not_meet_stand_for_nan_and_not_the_other_way_round() -> None:
    x = torch.zeros(4, 8)
    x[0, 0], x[0, 1], x[1, 0] = float("inf"), float("-inf"), float("inf")
    wanted = expected(lambda t: t.sum(-1), x, 8, 1)
    right = x.sum(-1)
    for value in (float("inf"), float("-inf")):
        other = right.clone()
        other[0] = value
        assert judge(other, wanted).kind is None
    for place, value in ((0, 0.0), (1, float("nan")), (1, float("-inf"))):
        wrong = right.clone()
        wrong[place] = value
        assert judge(wrong, wanted).kind == "answer"


def erf_by_hand(t: Tensor) -> Tensor:
    return 0.5 * t * (1 + torch.erf(t * 0.5**0.5))


def tanh_by_hand(t: Tensor) -> Tensor:
    return 0.5 * t * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (t + 0.044715 * t**3)))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_kernel_that_keeps_digits_which_float64_loses_is_right(approximate: str, by_hand: bool) -> None:
    x = torch.cat([normal(4000), torch.linspace(-12, -5, 3000)])
    gelu = partial(torch.nn.functional.gelu, approximate=approximate)
    written = {"none": erf_by_hand, "tanh": tanh_by_hand}[approximate] if by_hand else gelu
    captured = capture(written, [x])
    yardstick = Yardstick(oracle(captured), operation_counts(captured))
    eager = written(x)
    (exact,), (moved,) = truth(yardstick, [x], {}, [eager], seed=7)
    wanted = expect("out", eager, exact, moved, yardstick.counts.factor)
    wide = x.double()
    careful = {
        "none": 0.5 * wide * torch.special.erfc(-wide * 0.5**0.5),
        "tanh": wide * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (wide + 0.044715 * wide**3)),
    }[approximate]
    assert judge(careful.float(), wanted).kind is None
    assert judge(eager, wanted).kind is None
    assert judge(torch.where(x < -6, 1e-3, careful).float(), wanted).kind is not None
