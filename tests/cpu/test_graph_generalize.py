"""A partition that was freed of its sizes computes what eager does at any of them, by a plain interpreter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from propose_cases import interpret, traced
from test_graph_cut import SHAPED, UNARY
from torch import Tensor

from kernelwright.core.expr import Expr, evaluate, holds
from kernelwright.graph.affine import agrees, fit
from kernelwright.graph.cut import Partition
from kernelwright.graph.generalize import generalize
from kernelwright.graph.library_steps import LibraryStep
from kernelwright.graph.loops import Access, Load, Region

Function = Callable[..., Tensor]
NAMES = ("batch", "tokens", "heads", "width")
SMALL = st.sampled_from([2, 3, 4, 6, 7])


def freed(function: Function, axes: Mapping[str, int]) -> Partition:
    """`function` of one tensor whose dimensions are the axes, with all axes free that can be."""

    def captured(point: Mapping[str, int]):  # type: ignore[no-untyped-def]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return traced(function, [torch.randn(*point.values())])
        except (RuntimeError, IndexError):
            return None

    return generalize(captured(axes), axes, captured, lambda partition: frozenset())


def at_point(partition: Partition, axes: Mapping[str, int]) -> Partition:
    """The partition with every expression a number."""

    def access(one: Access) -> Access:
        strides = tuple(evaluate(stride, axes) for stride in one.strides)
        return Access(one.buffer, strides, evaluate(one.offset, axes))

    def region(one: Region) -> Region:
        sizes = [evaluate(dim.size, axes) for dim in one.dims]
        return replace(
            one,
            dims=tuple(
                replace(dim, size=size, extent=size) for dim, size in zip(one.dims, sizes, strict=True)
            ),
            nodes=tuple(replace(n, access=access(n.access)) if isinstance(n, Load) else n for n in one.nodes),
            stores=tuple(replace(store, access=access(store.access)) for store in one.stores),
        )

    steps = tuple(region(step) if isinstance(step, Region) else step for step in partition.steps)
    buffers = tuple(
        buffer.model_copy(update={"shape": tuple(evaluate(size, axes) for size in buffer.shape)})
        for buffer in partition.buffers
    )
    return replace(partition, steps=steps, buffers=buffers)


def check(function: Function, partition: Partition, axes: Mapping[str, int]) -> None:
    x = torch.randn(*axes.values())
    expected = function(x)
    found = interpret(at_point(partition, axes), {"x0": x})["out"].reshape(expected.shape)
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=2e-5, atol=2e-6)


@settings(max_examples=30, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(SMALL, min_size=2, max_size=4),
    st.lists(st.one_of(st.sampled_from(UNARY), st.sampled_from(SHAPED)), min_size=1, max_size=4),
    st.data(),
)
def test_random_chains_at_any_size_of_the_domain(
    shape: list[int], chain: list[Callable[[Tensor], Tensor]], data: st.DataObject
) -> None:
    def function(x: Tensor) -> Tensor:
        for step in chain:
            if x.dim() >= 2 or step in UNARY:
                x = step(x)
        return x * 2

    axes = dict(zip(NAMES, shape, strict=False))
    partition = freed(function, axes)
    check(function, partition, axes)
    for size in (1, 2, 3, 9, 21):
        moved = data.draw(st.sets(st.sampled_from(sorted(axes)), min_size=1))
        point = {**axes, **dict.fromkeys(moved, size)}
        if holds(partition.domain, point):
            check(function, partition, point)


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")
@pytest.mark.parametrize(
    ("function", "domain"),
    [
        (lambda x: F.layer_norm(x, x.shape[1:]), "batch >= 1 and tokens >= 1"),
        (lambda x: torch.softmax(x, 0), "batch >= 1 and tokens >= 1"),
        (lambda x: x.var(0), "batch >= 1 and tokens >= 1"),
        (lambda x: x * x.shape[0], "batch == 24 and tokens >= 1"),
        (lambda x: x[:5].exp(), "batch >= 16 and tokens >= 1"),
        (lambda x: x[1:].exp() + x[:-1], "batch >= 1 and tokens >= 1"),
        (lambda x: x[-1].exp(), "batch >= 1 and tokens >= 1"),
        (lambda x: torch.relu(x @ x.t()), "batch == 24 and tokens >= 1"),
        (lambda x: x[::2].exp(), "batch == 24 and tokens >= 1"),
        (lambda x: x.reshape(2, -1, x.shape[1]).sum(0), "batch == 24 and tokens >= 1"),
        (lambda x: x.reshape(x.shape[0], 2, -1).sum(1), "batch >= 1 and tokens == 18"),
        (lambda x: x.sum(0) if x.shape[0] > 3 else x[0], "batch >= 4 and tokens >= 1"),
        (lambda x: torch.arange(x.shape[0]).unsqueeze(1) + x, "batch >= 1 and tokens >= 1"),
    ],
)
def test_domain_says_what_was_found(function: Function, domain: str) -> None:
    axes = {"batch": 24, "tokens": 18}
    partition = freed(function, axes)
    assert partition.domain == domain
    for batch, tokens in ((1, 5), (2, 1), (4, 7), (16, 18), (24, 40), (61, 18)):
        point = {"batch": batch, "tokens": tokens}
        if holds(domain, point) and not any(isinstance(step, LibraryStep) for step in partition.steps):
            check(function, partition, point)


def test_products_keep_their_views_in_expressions() -> None:
    axes = {"batch": 24, "tokens": 18}
    partition = freed(lambda x: torch.relu(x @ x.t()), axes)
    assert partition.domain == "batch == 24 and tokens >= 1"
    (product,) = (step for step in partition.steps if isinstance(step, LibraryStep))
    assert {"buffer": "x0", "shape": ["tokens", 24], "strides": [1, "tokens"], "offset": 0} in product.inputs


@given(st.integers(90, 500), st.integers(90, 500), st.integers(0, 9), st.integers(0, 9), st.integers(-5, 20))
def test_a_sum_of_multiples_is_found(a: int, b: int, k: int, m: int, c: int) -> None:
    def value(point: Mapping[str, int]) -> int:
        return k * point["a"] + m * point["b"] + c

    check_fit({"a": a, "b": b}, value)


@given(st.integers(3, 50), st.integers(3, 50), st.integers(1, 9), st.integers(-2, 5))
def test_a_multiple_of_a_product_is_found(a: int, b: int, k: int, c: int) -> None:
    check_fit({"a": a, "b": b}, lambda point: k * point["a"] * (point["b"] + c))


def check_fit(base: dict[str, int], value: Callable[[Mapping[str, int]], int]) -> Expr:
    beside = {axis: value({**base, axis: base[axis] + 1}) for axis in base}
    found = fit(base, value(base), beside)
    assert all(agrees(found, point, value(point)) for point in ({"a": 3, "b": 8}, {"a": 101, "b": 1}))
    return found
