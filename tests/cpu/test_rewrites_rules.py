"""Each rule that simplifies: it matches what it should, and both forms agree in float64 to roundoff."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from rewrites_cases import apply, check, drawn, few, graph_of, results, same, wild
from torch import Tensor

from kernelwright.graph.rewrites.base import aten
from kernelwright.graph.rewrites.clamps import CLAMPS
from kernelwright.graph.rewrites.constants import CONSTANTS
from kernelwright.graph.rewrites.diagonal import DIAGONAL
from kernelwright.graph.rewrites.pools import POOLED_MAXIMA, POOLED_MEANS
from kernelwright.graph.rewrites.repeated import REPEATED
from kernelwright.graph.rewrites.reshaped import RESHAPED
from kernelwright.graph.rewrites.single import ONE_LOGSUMEXP, SINGLE

SIZE = st.integers(1, 6)
SEED = st.integers(0, 999)
LITERAL = st.sampled_from([-3.0, -0.5, 0.0, 1e-3, 0.5, 1, 2.0, 7.5])


@few
@given(SIZE, SIZE, SEED)
def test_repeated_work_is_done_once(rows: int, columns: int, seed: int) -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        return (x @ w).relu() + (x @ w).relu() * torch.full_like(x @ w, 2.0)

    args = [drawn(rows, 3, seed=seed), drawn(3, columns, seed=seed + 1)]
    captured = graph_of(function, args)
    form, names = apply([REPEATED], captured)
    same(captured, form, args)
    assert set(names) == {REPEATED.name}
    assert sum(node.target is aten.mm.default for node in form.nodes) == 1


def test_literals_that_are_equal_and_not_the_same_stay_apart() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return x / 0.0, x / -0.0, x.to(torch.float64) * 1.0, torch.add(x, 1), torch.add(x, True)

    assert check([REPEATED], function, [drawn(4)]) == []


@few
@given(st.permutations(range(3)), st.permutations(range(3)), SEED)
def test_views_are_merged(first: list[int], second: list[int], seed: int) -> None:
    def function(x: Tensor) -> Tensor:
        y = x.permute(first).permute(second) * 2
        return y.reshape(-1).reshape(2, 12).reshape(y.shape) + 1

    captured = graph_of(function, [drawn(2, 3, 4, seed=seed)])
    form, names = apply([RESHAPED], captured)
    same(captured, form, [drawn(2, 3, 4, seed=seed)])
    assert names
    assert len(form.nodes) < len(captured.nodes)


ONE: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.sum(1), lambda x: x.mean(1, keepdim=True), lambda x: x.amax(1), lambda x: x.amin((1, 3)),
    lambda x: torch.softmax(x, 1), lambda x: torch.max(x, dim=1)[0], lambda x: x.var(1, correction=0),
]  # fmt: skip


@few
@given(st.sampled_from(ONE), SIZE, SIZE, SEED)
def test_reductions_of_one_element(
    function: Callable[[Tensor], Tensor], rows: int, columns: int, seed: int
) -> None:
    names = check([SINGLE], function, [wild(rows, 1, columns, 1, seed=seed)])
    assert set(names) == {SINGLE.name}


def test_reductions_of_more_than_one_element_stay() -> None:
    assert check([SINGLE], lambda x: x.sum(1), [drawn(3, 2)]) == []
    assert check([SINGLE], lambda x: x.sum((0, 1)), [drawn(1, 2)]) == []
    assert check([SINGLE], lambda x: x.sum(1), [torch.ones(3, 1, dtype=torch.bool)]) == []


@few
@given(SIZE, st.booleans(), SEED)
def test_logsumexp_of_one_element_is_that_element(rows: int, keep: bool, seed: int) -> None:
    def function(x: Tensor) -> Tensor:
        return torch.logsumexp(torch.logsumexp(x, 1, keepdim=True), 1, keepdim=keep)

    args = [wild(rows, 1, seed=seed, share=0.4)]
    captured = graph_of(function, args)
    form, names = apply([REPEATED, SINGLE, RESHAPED, ONE_LOGSUMEXP], captured)
    same(captured, form, args)
    assert names.count(ONE_LOGSUMEXP.name) == 2
    assert not any(node.target is aten.exp.default for node in form.nodes)
    assert torch.equal(results(form, args)[0].nan_to_num(5.0), function(*args).nan_to_num(5.0))


def test_logsumexp_of_more_than_one_element_stays() -> None:
    rules = [REPEATED, SINGLE, RESHAPED, ONE_LOGSUMEXP]
    assert ONE_LOGSUMEXP.name not in check(rules, lambda x: torch.logsumexp(x, 1), [drawn(3, 2)])
    assert ONE_LOGSUMEXP.name not in check(rules, lambda x: (x - 1).exp().log() + 1, [drawn(3, 2)])


STEP: list[Callable[[Tensor, float], Tensor]] = [
    lambda x, a: x * a, lambda x, a: x + a, lambda x, a: x - a, lambda x, a: x / a, lambda x, a: a * x,
]  # fmt: skip


@few
@given(st.lists(st.tuples(st.sampled_from(STEP), LITERAL), min_size=2, max_size=5), SEED)
def test_constants_are_merged(
    chain: list[tuple[Callable[[Tensor, float], Tensor], float]], seed: int
) -> None:
    def function(x: Tensor) -> Tensor:
        for step, literal in chain:
            x = step(x, literal)
        return x

    check([CONSTANTS], function, [wild(3, 4, seed=seed)])


@pytest.mark.parametrize(("a", "b"), [(1e-200, 1e-200), (1e200, 1e200), (0.0, 3.0)])
def test_constants_that_would_vanish_or_overflow_stay_apart(a: float, b: float) -> None:
    assert check([CONSTANTS], lambda x: x * a * b, [drawn(4)]) == []


def test_constants_are_merged_where_nobody_reads_what_is_between() -> None:
    assert check([CONSTANTS], lambda x: x * 2.0 * 3.0 / 6.0, [drawn(4)]) != []
    shared = check([CONSTANTS], lambda x: ((x * 2.0) * 3.0, x * 2.0 + 1.0), [drawn(4)])
    assert shared == [CONSTANTS.name], "each product has one reader"


BOUND = st.one_of(st.none(), st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0]))


@few
@given(st.lists(st.tuples(BOUND, BOUND), min_size=2, max_size=4), SEED)
def test_clamps_are_merged(bounds: list[tuple[float | None, float | None]], seed: int) -> None:
    def function(x: Tensor) -> Tensor:
        for low, high in bounds:
            x = torch.relu(x) if low is None and high is None else torch.clamp(x, low, high)
        return F.hardtanh(x, -0.25, 0.75)

    names = check([CLAMPS], function, [wild(5, 7, seed=seed)])
    ordered = all(low is None or high is None or low <= high for low, high in bounds)
    assert len(names) == len(bounds) if ordered else True


@pytest.mark.parametrize("rank", [2, 3])
@few
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), SEED)
def test_maximum_pools_are_merged(rank: int, a: int, s: int, b: int, t: int, seed: int) -> None:
    pool = {2: F.max_pool2d, 3: F.max_pool3d}[rank]
    args = [wild(2, 3, *[13] * rank, seed=seed, share=0.01)]
    names = check([POOLED_MAXIMA], lambda x: pool(pool(x, a, s), b, t), args)
    assert bool(names) == (s <= a or b == 1), "between windows that leave gaps there is nothing to be seen"


@few
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), SEED)
def test_average_pools_are_merged_where_windows_do_not_overlap(
    a: int, s: int, b: int, t: int, seed: int
) -> None:
    names = check(
        [POOLED_MEANS], lambda x: F.avg_pool2d(F.avg_pool2d(x, a, s), b, t), [drawn(2, 3, 13, 14, seed=seed)]
    )
    assert bool(names) == (a == s)


def test_pools_that_do_not_fit_stay() -> None:
    args = [drawn(2, 3, 13, 13)]
    rules = [POOLED_MAXIMA, POOLED_MEANS]
    for function in (
        lambda x: F.max_pool2d(F.max_pool2d(x, 3, 2, padding=1), 2),
        lambda x: F.max_pool2d(F.max_pool2d(x, 2), 2, dilation=2),
        lambda x: F.max_pool2d(F.max_pool2d(x, 2, ceil_mode=True), 2),
        lambda x: F.avg_pool2d(F.avg_pool2d(x, 2, padding=1), 2),
        lambda x: F.avg_pool2d(F.avg_pool2d(x, 2), 2, divisor_override=3),
        lambda x: F.avg_pool2d(F.max_pool2d(x, 2), 2),
        lambda x: F.max_pool2d(F.max_pool2d(x, 2, return_indices=True)[0], 2, return_indices=True),
    ):
        assert check(rules, function, args) == []


@few
@given(st.integers(8, 12), st.integers(1, 9), st.booleans(), SEED, st.sampled_from([0.0, 0.01, 0.1]))
def test_products_with_a_diagonal(size: int, other: int, left: bool, seed: int, share: float) -> None:
    """NaN and infinities go where the product takes them."""
    factors = wild(size, seed=seed + 7, share=share)
    matrix = wild(*((size, other) if left else (other, size)), seed=seed, share=share)
    function = (lambda a, b: torch.diag(a) @ b) if left else (lambda a, b: b @ torch.diag(a))
    captured = graph_of(function, [factors, matrix])
    form, names = apply([REPEATED, DIAGONAL], captured)
    assert DIAGONAL.name in names
    assert not any(node.target is aten.mm.default for node in form.nodes)
    same(captured, form, [factors, matrix])
    (found,) = results(form, [factors, matrix])
    want = function(factors, matrix)
    assert torch.equal(found.isnan(), want.isnan())
    assert torch.equal(found.nan_to_num(0.0, 1.0, -1.0).sign(), want.nan_to_num(0.0, 1.0, -1.0).sign())


def test_other_masks_are_no_diagonal() -> None:
    a, b = drawn(8, 8), drawn(8, 5)
    for function in (
        lambda a, b: torch.triu(a) @ b,
        lambda a, b: torch.diag(a[0], 1)[:8, :8] @ b,
        lambda a, b: torch.where(torch.eye(8, dtype=torch.bool), a[0], math.pi) @ b,
        lambda a, b: torch.where(torch.eye(8, dtype=torch.bool), a, 0.0) @ b,
    ):
        assert DIAGONAL.name not in check([REPEATED, DIAGONAL], function, [a, b])
