"""Rules that move something across a product: both forms agree in float64, and the cheaper one is taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from rewrites_cases import apply, check, drawn, few, graph_of, results, same, wild
from torch import Tensor, nn

from kernelwright.graph.capture import capture, module_tensors
from kernelwright.graph.rewrites.absorbed import ABSORBED
from kernelwright.graph.rewrites.base import aten
from kernelwright.graph.rewrites.engine import rewritten
from kernelwright.graph.rewrites.sums import SUMS
from kernelwright.graph.rewrites.triangular import TRIANGULAR

SIZE = st.integers(2, 5)
SEED = st.integers(0, 999)
FOLD = st.sampled_from([torch.sum, torch.mean])
PRODUCT: list[Callable[..., Tensor]] = [
    lambda x, w, b: x @ w.T,
    lambda x, w, b: F.linear(x, w, b),
    lambda x, w, b: torch.addmm(b, x, w.T),
]


@few
@given(st.sampled_from(PRODUCT), FOLD, st.sampled_from([[0], [1], [-1], [0, 1]]), st.booleans(), SIZE, SEED)
def test_sums_of_rows_and_columns(
    product: Callable[..., Tensor],
    fold: Callable[..., Tensor],
    dims: list[int],
    keep: bool,
    size: int,
    seed: int,
) -> None:
    args = [drawn(size, 3, seed=seed), drawn(4, 3, seed=seed + 1), drawn(4, seed=seed + 2)]
    names = check([SUMS], lambda x, w, b: fold(product(x, w, b), dims, keep), args)
    assert names == [SUMS.name]


@few
@given(FOLD, st.sampled_from([[1], [2], [1, 2]]), st.booleans(), SIZE, SEED)
def test_sums_of_batched_products(
    fold: Callable[..., Tensor], dims: list[int], keep: bool, size: int, seed: int
) -> None:
    args = [drawn(2, size, 3, seed=seed), drawn(2, 3, 4, seed=seed + 1)]
    assert check([SUMS], lambda x, y: fold(torch.bmm(x, y), dims, keep), args) == [SUMS.name]
    assert check([SUMS], lambda x, y: fold(torch.bmm(x, y), [0, 1], keep), args) == []


@few
@given(FOLD, st.booleans(), SIZE, SEED)
def test_sums_of_a_linear_layer_on_more_dimensions(
    fold: Callable[..., Tensor], keep: bool, size: int, seed: int
) -> None:
    args = [drawn(2, size, 3, seed=seed), drawn(4, 3, seed=seed + 1), drawn(4, seed=seed + 2)]
    assert check([SUMS], lambda x, w, b: fold(F.linear(x, w, b), [-1], keep), args) == [SUMS.name]


@few
@given(FOLD, st.booleans(), st.integers(1, 3), st.integers(1, 2), st.integers(0, 1), SEED)
def test_sums_of_a_transposed_convolution(
    fold: Callable[..., Tensor], bias: bool, stride: int, dilation: int, more: int, seed: int
) -> None:
    args = [drawn(2, 3, 5, 4, seed=seed), drawn(3, 6, 3, 2, seed=seed + 1), drawn(6, seed=seed + 2)]
    more = min(more, max(stride, dilation) - 1)

    def function(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        y = F.conv_transpose2d(x, w, b if bias else None, stride, 0, more, 1, dilation)
        return fold(y, [2, 3], True)

    assert check([SUMS], function, args) == [SUMS.name]


@pytest.mark.parametrize("op", [F.conv2d, F.conv_transpose2d])
def test_sums_over_places_that_padding_cuts_stay(op: Callable[..., Tensor]) -> None:
    args = [drawn(2, 3, 5, 4), drawn(3, 3, 3, 2), drawn(3)]
    assert check([SUMS], lambda x, w, b: op(x, w, b, 1, 1).sum((2, 3)), args) == []


@few
@given(FOLD, st.booleans(), st.integers(0, 1), st.booleans(), SEED)
def test_sums_of_the_channels_of_a_convolution(
    fold: Callable[..., Tensor], transposed: bool, padding: int, keep: bool, seed: int
) -> None:
    weight = drawn(*((3, 6) if transposed else (6, 3)), 3, 2, seed=seed + 1)
    op = F.conv_transpose2d if transposed else F.conv2d
    args = [drawn(2, 3, 5, 4, seed=seed), weight, drawn(6, seed=seed + 2)]
    assert check([SUMS], lambda x, w, b: fold(op(x, w, b, 1, padding), [1], keep), args) == [SUMS.name]


@few
@given(SEED, st.sampled_from([0.01, 0.1]))
def test_sums_of_channels_are_not_finite_where_the_original_is_not(seed: int, share: float) -> None:
    """Where infinities of both signs meet the original has NaN; there infinity is as good."""
    args = [wild(3, 4, 9, seed=seed, share=share), drawn(5, 4, 2, seed=seed + 1), drawn(5, seed=seed + 2)]
    captured = graph_of(lambda x, w, b: F.conv1d(x, w, b).sum(1), args)
    form, _ = apply([SUMS], captured)
    (want,), (found,) = results(captured, args), results(form, args)
    assert torch.equal(want.isfinite(), found.isfinite())
    assert torch.equal(want[want.isinf()], found[want.isinf()])


@few
@given(
    st.sampled_from([[0], [1], [0, 1]]), SEED, st.sampled_from([0.01, 0.1]), st.integers(1, 3), st.booleans()
)
def test_moved_sums_have_nan_and_infinities_where_the_original_has(
    dims: list[int], seed: int, share: float, columns: int, positive: bool
) -> None:
    x, w = wild(40, 6, seed=seed, share=share), drawn(columns, 6, seed=seed + 1)
    args = [x, w.abs() if positive else w, drawn(columns, seed=seed + 2)]
    assert check([SUMS], lambda x, w, b: F.linear(x, w, b).sum(dims), args) == [SUMS.name]
    odd = [args[0], wild(columns, 6, seed=seed, share=share), args[2]]
    assert check([SUMS], lambda x, w, b: F.linear(x, w, b).sum(dims), odd) == [SUMS.name]


@few
@given(SEED, st.integers(1, 2), st.booleans())
def test_moved_sums_of_places_have_nan_and_infinities_where_the_original_has(
    seed: int, window: int, positive: bool
) -> None:
    x, w = wild(4, 3, 7, seed=seed, share=0.02), drawn(3, 5, window, seed=seed + 1)
    args = [x, w.abs() if positive else w]
    assert check([SUMS], lambda x, w: F.conv_transpose1d(x, w).mean(2), args) == [SUMS.name]


SCALE: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda y, v: y * v, lambda y, v: y / v, lambda y, v: y + v, lambda y, v: y - v, lambda y, v: v - y,
    lambda y, v: v * y, lambda y, v: y * 0.5, lambda y, v: y / -3.0, lambda y, v: y + 2, lambda y, v: 1.5 - y,
]  # fmt: skip
LAYERS: dict[str, tuple[Callable[..., Tensor], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "linear": (F.linear, (5, 3), (4, 3), (4,)),
    "rows": (F.linear, (2, 5, 3), (4, 3), (4,)),
    "conv": (F.conv2d, (2, 3, 6, 5), (4, 3, 3, 2), (4, 1, 1)),
    "padded": (lambda x, w, b: F.conv1d(x, w, b, 2, 1), (2, 3, 7), (4, 3, 3), (1, 4, 1)),
    "grouped": (lambda x, w, b: F.conv1d(x, w, b, groups=3), (2, 3, 7), (6, 1, 3), (1, 6, 1)),
    "transposed": (F.conv_transpose2d, (2, 3, 4, 4), (3, 4, 3, 2), (4, 1, 1)),
}


@pytest.mark.parametrize("name", LAYERS)
@few
@given(st.lists(st.sampled_from(SCALE), min_size=1, max_size=4), st.booleans(), SEED)
def test_scales_and_shifts_go_into_weights(
    name: str, chain: list[Callable[[Tensor, Tensor], Tensor]], bias: bool, seed: int
) -> None:
    layer, x, w, v = LAYERS[name]
    channels = max(v)

    def function(x: Tensor, w: Tensor, b: Tensor, v: Tensor) -> Tensor:
        y = layer(x, w, b if bias else None)
        for step in chain:
            y = step(y, v)
        return y

    vector = drawn(*v, seed=seed + 3).abs() + 0.5
    args = [drawn(*x, seed=seed), drawn(*w, seed=seed + 1), drawn(channels, seed=seed + 2), vector]
    captured = graph_of(function, args, inputs=1)
    form, names = apply([ABSORBED], captured)
    same(captured, form, args)
    assert names == [ABSORBED.name] * len(chain)


@few
@given(st.lists(st.sampled_from(SCALE), min_size=1, max_size=3), SEED)
def test_a_batched_product_takes_scales_and_no_shift(
    chain: list[Callable[[Tensor, Tensor], Tensor]], seed: int
) -> None:
    def function(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        y = torch.bmm(x, w)
        for step in chain:
            y = step(y, v)
        return y

    args = [drawn(2, 5, 3, seed=seed), drawn(2, 3, 4, seed=seed + 1), drawn(4, seed=seed + 2).abs() + 0.5]
    check([ABSORBED], function, args, inputs=1)
    assert check([ABSORBED], lambda x, w, v: torch.bmm(x, w) * v / 2, args, inputs=1) == [ABSORBED.name] * 2
    assert check([ABSORBED], lambda x, w, v: v - torch.bmm(x, w) + 1, args, inputs=1) == []


def test_what_is_no_scale_of_channels_stays() -> None:
    x, w, v = drawn(5, 3), drawn(5, 3), drawn(5)
    for function, inputs in (
        (lambda x, w, v: F.linear(x, w) * v, 3),  # an input may be infinite
        (lambda x, w, v: F.linear(x, w) * v[:, None], 1),  # along the rows
        (lambda x, w, v: v / F.linear(x, w), 1),
        (lambda x, w, v: F.linear(x, w) * 1e-30, 1),  # weights would lose digits
        (lambda x, w, v: F.linear(x, w) * float("inf"), 1),
        (lambda x, w, v: (F.linear(x, w) * v, F.linear(x, w)), 1),
    ):
        names = check([ABSORBED], function, [x, w, v], inputs=inputs)
        assert names == [] if inputs == 3 else len(names) <= 1
    shared = graph_of(lambda x, w, v: (y := F.linear(x, w), y * v), [x, w, v], inputs=1)
    assert apply([ABSORBED], shared)[1] == []


def test_batch_norm_in_eval_mode_goes_into_a_convolution() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).double().eval()
    for value in module[1].state_dict().values():
        if value.is_floating_point():
            value.uniform_(0.5, 2)
    x = drawn(2, 3, 6, 5)
    captured = capture(module, [x])
    form, names = apply([ABSORBED], captured)
    held = module_tensors(module)
    values = [x if one.kind == "input" else held[one.name] for one in captured.placeholders.values()]
    same(captured, form, values)
    assert len(names) == 4, "mean, deviation, weight and bias"
    (result,) = form.outputs
    assert result.target is aten.convolution.default


@few
@given(st.booleans(), st.integers(-600, 600), st.integers(512, 530), st.integers(500, 530), SEED)
def test_triangles_of_products(upper: bool, diagonal: int, rows: int, columns: int, seed: int) -> None:
    keep = torch.triu if upper else torch.tril
    args = [drawn(rows, 3, seed=seed), drawn(3, columns, seed=seed + 1)]
    assert check([TRIANGULAR], lambda a, b: keep(a @ b, diagonal), args) == [TRIANGULAR.name]


def test_a_triangle_hides_what_the_other_half_has() -> None:
    a, b = wild(512, 4, share=0.01), wild(4, 512, seed=5, share=0.01)
    captured = graph_of(lambda a, b: torch.triu(a @ b), [a, b])
    form, _ = apply([TRIANGULAR], captured)
    same(captured, form, [a, b])


def test_the_cheaper_form_is_taken() -> None:
    """A sum of many columns is moved; a scale in front of another pass over the result is left."""
    x, w, v = drawn(64, 48), drawn(32, 48), drawn(32)
    summed = rewritten(graph_of(lambda x, w, v: (F.linear(x, w) / 2).sum(1), [x, w, v], inputs=1))
    assert set(summed.rules) >= {SUMS.name, ABSORBED.name}
    assert summed.after.work < summed.before.work / 2
    relu = rewritten(graph_of(lambda x, w, v: torch.relu(F.linear(x, w) * v), [x, w, v], inputs=1))
    assert relu.rules == ()
    assert relu.after == relu.before
    big = drawn(4096, 48)
    scaled = rewritten(graph_of(lambda x, w, v: F.linear(x, w) * v, [big, w, v], inputs=1))
    assert scaled.rules == (ABSORBED.name,)


def test_the_same_moves_can_be_made_at_other_sizes() -> None:
    function = lambda x, w, v: F.linear(x, w) * v  # noqa: E731
    base = rewritten(graph_of(function, [drawn(4096, 48), drawn(32, 48), drawn(32)], inputs=1))
    small = graph_of(function, [drawn(2, 48), drawn(32, 48), drawn(32)], inputs=1)
    assert rewritten(small).rules == ()
    again = rewritten(small, base.products)
    assert again.rules == base.rules
    assert [node.name for node in again.captured.nodes] == [node.name for node in base.captured.nodes]
