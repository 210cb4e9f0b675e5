"""Tensors as memory: what autograd is told of a write, and which tensors are refused in a line."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes import Packer
from kernelwright.workloads.datatypes.canonical import canonicalize
from kernelwright.workloads.datatypes.tree import Block, Repeat

COLUMN = Packer(canonicalize(Repeat(4, 16, Block(8))), (0, 64), (0, 56))
"""Every second of eight doubles."""
PACKED, MEMORY = np.full(4, 5.0), np.full(8, 5.0)
WRITES: dict[str, Callable[[torch.Tensor], object]] = {
    "unpack": lambda tensor: COLUMN.unpack(PACKED, tensor),
    "pack": lambda tensor: COLUMN.pack(MEMORY, 1, tensor),
    "bind": lambda tensor: COLUMN.bind(MEMORY, 1, tensor)(),
    "bind_unpack": lambda tensor: COLUMN.bind_unpack(PACKED, tensor)(),
}
"""All ways to write to a tensor."""
writes = pytest.mark.parametrize("way", WRITES)


@writes
@pytest.mark.parametrize("view", [lambda x: x, torch.detach, lambda x: x.view(2, 4), lambda x: x[:]])
def test_a_gradient_that_needs_what_was_overwritten_raises(way: str, view: Callable) -> None:
    x, w = torch.ones(8, dtype=torch.float64), torch.ones(8, dtype=torch.float64, requires_grad=True)
    y = (x * w).sum()
    WRITES[way](view(x))
    assert (x == 5).sum() == 4
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("bound", [
    lambda x: COLUMN.bind(MEMORY, 1, x), lambda x: COLUMN.bind_unpack(PACKED, x),
])  # fmt: skip
def test_each_bound_call_is_a_change_of_its_own(bound: Callable) -> None:
    x, w = torch.ones(8, dtype=torch.float64), torch.ones(8, dtype=torch.float64, requires_grad=True)
    call = bound(x)
    (x * w).sum().backward()
    call()
    y = (x * w).sum()
    call()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_reading_is_no_change() -> None:
    x, w = torch.ones(8, dtype=torch.float64), torch.ones(8, dtype=torch.float64, requires_grad=True)
    y = (x * w).sum()
    COLUMN.pack(x), COLUMN.bind(x)(), COLUMN.unpack(x, np.zeros(8)), COLUMN.pack(w)
    y.backward()
    assert w.grad is not None and w.grad.tolist() == [1] * 8


@writes
@pytest.mark.parametrize("tracked", [lambda x: x, lambda x: x * 2, torch.nn.Parameter])
def test_what_requires_grad_is_not_written(way: str, tracked: Callable) -> None:
    x = tracked(torch.ones(8, dtype=torch.float64, requires_grad=True))
    before, version = x.tolist(), x._version
    with pytest.raises(UsageError, match=r"requires grad.*\.detach\(\)"), torch.no_grad():
        WRITES[way](x)
    assert x.tolist() == before and x._version == version


@writes
def test_a_refused_write_is_no_change(way: str) -> None:
    x = torch.ones(3, dtype=torch.float64)
    with pytest.raises(UsageError):
        WRITES[way](x)
    assert x._version == 0


@writes
def test_tensors_of_inference_mode_are_written(way: str) -> None:
    with torch.inference_mode():
        x = torch.ones(8, dtype=torch.float64)
    WRITES[way](x)
    assert (x == 5).sum() == 4


def fake() -> torch.Tensor:
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode().from_tensor(torch.ones(8))


ODD = {
    "conj": lambda: torch.ones(8, dtype=torch.complex128).conj(),
    "negated": lambda: torch._neg_view(torch.ones(8)),
    "both": lambda: torch.ones(8, dtype=torch.complex128).conj().imag,
    "sparse": lambda: torch.eye(8).to_sparse(),
    "rows": lambda: torch.eye(8).to_sparse_csr(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "zero": lambda: torch._efficientzerotensor(8),
    "meta": lambda: torch.ones(8, device="meta"),
    "gaps": lambda: torch.ones(4, 4).T,
    "fake": fake,
}
"""Tensors whose bytes are not where they seem."""


@writes
@pytest.mark.parametrize("kind", ODD)
def test_odd_tensors_are_refused_in_a_line(way: str, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that some are prototypes
        tensor = ODD[kind]()
    for call in (lambda: COLUMN.pack(tensor), lambda: WRITES[way](tensor)):
        with pytest.raises(UsageError, match="is a tensor") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_tensors_inside_a_transform_are_refused() -> None:
    def inside(x: torch.Tensor) -> torch.Tensor:
        with pytest.raises(UsageError, match="without plain memory"):
            COLUMN.pack(x)
        return x.sum()

    torch.func.grad(inside)(torch.ones(8))
