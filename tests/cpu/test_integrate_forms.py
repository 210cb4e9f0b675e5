"""Forms of calls: what is not the same has another, and what has none is the original's."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from integrate_cases import CPU, ROWS, WIDTH, RootMeanSquare, norm_kernel
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright.execute.forms import form_of
from kernelwright.execute.module import KernelModule
from kernelwright.integrate.guard import Guard
from kernelwright.languages import build
from kernelwright.problems import load_problem
from kernelwright.search.campaign import open_proposals


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(ROWS, WIDTH)


def guarded(site: nn.Module) -> Guard:
    kernel, made, problem = norm_kernel()
    guard = Guard(site, KernelModule(site, kernel, made, problem, like=torch.zeros(ROWS, WIDTH)))
    guard.put_in()
    return guard


class Pools(nn.Module):
    """Works on tensors of any layout that torch can add."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice as much."""
        return x + x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: torch.nested.nested_tensor([x, x[:2]]),
        lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged),
        lambda x: x.to_mkldnn(),
        lambda x: x.to("meta"),
    ],
    ids=["sparse", "sparse rows", "nested", "jagged", "opaque", "meta"],
)
def test_tensors_of_no_common_form_are_the_originals(make: Any, x: torch.Tensor) -> None:
    site = Pools().eval()
    problem = load_problem(site, (x,))
    proposals = open_proposals(problem, CPU)
    kernel = proposals.kernel(proposals.space.default())
    guard = Guard(site, KernelModule(site, kernel, build(kernel, CPU), problem, like=x))
    guard.put_in()
    given = make(x)
    with torch.no_grad():
        for _ in range(3):
            found = site(given)
            assert type(found) is type(Pools()(given)) and found.layout == given.layout
        site(x), site(x)
    assert guard.kernel.served == 2


@given(st.lists(st.sampled_from([True, 1, 1.0, "1", 0.0, -0.0, False, 0, None, [1], [True]]), max_size=3))
def test_values_that_are_equal_and_not_the_same_have_forms_of_their_own(values: list[Any]) -> None:
    other = [not each if type(each) is bool else each for each in values]
    assert form_of(values, {}) == form_of(list(values), {})
    assert (form_of(values, {}) == form_of(other, {})) == (repr(values) == repr(other))
    assert form_of([1], {}) != form_of([True], {}) != form_of([1.0], {}) != form_of([1], {})
    assert form_of([0.0], {}) != form_of([-0.0], {})


def test_symbolic_tracing_has_the_original(x: torch.Tensor) -> None:
    site, plain = RootMeanSquare().eval(), RootMeanSquare().eval()
    site.load_state_dict(plain.state_dict())
    guard, weights = guarded(site), dict(plain.named_parameters())
    with torch.no_grad():
        site(x), site(x)
        for mode in ("real", "fake", "symbolic"):
            traced = make_fx(partial(torch.func.functional_call, site), tracing_mode=mode)(weights, x)
            torch.testing.assert_close(traced(weights, x), plain(x))
        torch.testing.assert_close(torch.func.vmap(site)(x.view(4, -1, WIDTH)).flatten(0, 1), plain(x))
    assert guard.kernel.served == 2
