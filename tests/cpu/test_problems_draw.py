"""Draws, references and symbolic sizes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import ProblemError
from kernelwright.core.expr import evaluate
from kernelwright.core.problem import Problem
from kernelwright.problems import DRAWS, Reference, load_problem
from kernelwright.problems.draw import fill
from kernelwright.problems.symbolic import express

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]

FILE = """
import torch
import torch.nn as nn

rows = 64

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.table = nn.Parameter(torch.randn(10, 32))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x, index, mask, scale):
        return torch.where(mask, self.norm(x), self.table[index]) * scale

def get_inputs():
    return [torch.rand(rows, 32), torch.randint(10, (rows,)), torch.rand(rows, 1) > 0.5, 2.0]

def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    path = tmp_path_factory.mktemp("draw") / "gated.py"
    path.write_text(FILE)
    return load_problem(path)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_draws_are_repeatable_and_finite_unless_said(name: str, dtype: torch.dtype) -> None:
    one, two, other = (torch.full((33, 65), 7.0, dtype=dtype) for _ in range(3))
    fill(one, name, 1)
    fill(two, name, 1)
    fill(other, name, 2)
    assert torch.equal(one.nan_to_num(), two.nan_to_num())
    assert not torch.equal(one.nan_to_num(), other.nan_to_num())
    assert bool(one.isfinite().all()) == (name != "nonfinite")


def test_draws_are_what_their_names_say() -> None:
    x = torch.empty(1 << 16)

    def drawn(name: str) -> torch.Tensor:
        fill(x, name, 5)
        return x.double()

    assert -0.05 < float(drawn("signed").mean()) < 0.05
    assert float(drawn("negative").max()) <= 0
    tails = drawn("heavy_tailed")
    assert float(tails.abs().max()) > 100 * float(tails.abs().median())
    constant = drawn("constant")
    assert float(constant.min()) == float(constant.max())
    huge = drawn("huge")
    assert float(huge.std()) > 1e14 and bool((huge.float() ** 2).isfinite().all())
    assert 0 < float(drawn("tiny").abs().max()) < 1e-27
    offset = drawn("offset")
    assert 999 < float(offset.mean()) < 1001 and 0.9 < float(offset.std()) < 1.1
    pairs = drawn("ill_conditioned").view(-1, 2)
    assert float(pairs.sum(1).abs().max()) < 0.1 * float(pairs.abs().max())
    strange = drawn("nonfinite")
    for found in (strange.isnan(), strange.isposinf(), strange.isneginf()):
        assert 0 < int(found.sum()) < strange.numel() // 1000


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3)])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_fill_any_shape(name: str, shape: tuple[int, ...]) -> None:
    x = torch.full(shape, 7.0)
    fill(x, name, 1)
    assert x.numel() == 0 or float(x) != 7.0


@pytest.mark.parametrize("name", list(DRAWS))
def test_draws_fill_any_layout_with_the_same(name: str) -> None:
    dense = torch.zeros(6, 8)
    fill(dense, name, 3)
    for laid in (torch.zeros(8, 6).t(), torch.zeros(6, 16)[:, ::2], torch.zeros(7, 8)[1:]):
        fill(laid, name, 3)
        torch.testing.assert_close(laid, dense, equal_nan=True)


def test_file_draw_is_the_files_own(problem: Problem) -> None:
    reference = Reference.open(problem)
    torch.manual_seed(9)
    expected = torch.rand(64, 32)
    found = reference.draw(9)
    assert torch.equal(found[0], expected)
    assert found[3] == 2.0


def test_named_draw_keeps_integers_and_numbers(problem: Problem) -> None:
    reference = Reference.open(problem)
    file, named = reference.draw(9), reference.draw(9, "negative")
    assert float(named[0].max()) < 0
    assert torch.equal(file[1], named[1]) and torch.equal(file[2], named[2]) and named[3] == 2.0
    with pytest.raises(ProblemError, match="did you mean 'negative'"):
        reference.draw(9, "negativ")


def test_weights_follow_their_seed(problem: Problem) -> None:
    first, again, other = (Reference.open(problem, weights_seed=seed).weights() for seed in (0, 0, 7))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert float(first["norm.weight"].min()) == 1.0 == float(first["norm.weight"].max())
    for name in ("table", "norm.weight", "norm.bias"):
        assert not torch.equal(first[name], other[name])
    assert float(other["norm.weight"].min()) > 0
    assert int(other["count"]) == 0


def test_opening_does_not_depend_on_the_file(problem: Problem) -> None:
    again = Problem.model_validate_json(problem.model_dump_json())
    Path(again.entry.location).unlink(missing_ok=True)
    reference = Reference.open(again)
    assert [spec.name for spec in again.inputs] == ["x", "index", "mask"]
    assert len(reference.forward(reference.draw(1))) == 1


def test_reference_that_fails_on_a_draw_says_so(problem: Problem) -> None:
    reference = Reference.open(problem)
    with pytest.raises(ProblemError, match="reference of 'gated' raises"):
        reference.forward(reference.draw(1)[:2])


def test_numeric_flags_are_applied(problem: Problem) -> None:
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = True, False
        Reference.open(problem)
        assert torch.backends.cuda.matmul.allow_tf32 is problem.flags.tf32_matmul
        assert torch.backends.cudnn.allow_tf32 is problem.flags.tf32_conv
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


AXES = st.fixed_dictionaries({name: st.integers(2, 40) for name in ("a", "b", "c")})


@given(base=AXES, factor=st.integers(1, 9), names=st.lists(st.sampled_from(["a", "b", "c"]), max_size=3))
@settings(max_examples=60, deadline=None)
def test_monomials_are_found(base: dict[str, int], factor: int, names: list[str]) -> None:
    def size(axes: dict[str, int]) -> int:
        return factor * math.prod(axes[name] for name in names)

    points = [base, *({**base, name: base[name] * times} for name in base for times in (2, 3))]
    found = express([(axes, size(axes)) for axes in points])
    elsewhere = {"a": 101, "b": 103, "c": 107}
    assert evaluate(found, elsewhere) == size(elsewhere)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (lambda n: 5, 5),
        (lambda n: n // 4, "(n) // 4"),
        (lambda n: n + 3, "n + 3"),
        (lambda n: 2 * n - 1, "n * 2 - 1"),
        (lambda n: (n - 3) // 2 + 1, "(n - 1) // 2"),
        (lambda n: 5 - n, "- n + 5"),
    ],
)
def test_sizes_of_one_axis(size: object, text: object) -> None:
    assert callable(size)
    samples = [({"n": n}, size(n)) for n in (32, 64, 96, 16, 9, 33)]
    assert express(samples) == text


def test_sizes_of_a_window_over_two_axes() -> None:
    points = [(60, 3), (120, 3), (180, 3), (30, 3), (60, 6), (60, 9), (60, 1), (31, 2)]
    axes = [{"length": length, "window": window} for length, window in points]
    assert express([(at, at["length"] - at["window"] + 1) for at in axes]) == "length - window + 1"
    dilated = [(at, (at["length"] - 4 * (at["window"] - 1) - 1) // 3 + 1) for at in axes]
    found = express(dilated)
    assert isinstance(found, str)
    assert all(evaluate(found, at) == size for at, size in dilated)
    assert evaluate(found, {"length": 77, "window": 5}) == (77 - 16 - 1) // 3 + 1


def test_unclear_sizes_stay_literal() -> None:
    assert express([({"n": n}, n.bit_count()) for n in (32, 33, 63)]) == 1
    assert express([({"n": 4, "m": 4}, 8), ({"n": 5, "m": 5}, 10)]) == 8


def test_a_place_that_is_drawn_twice_holds_the_same_in_every_process() -> None:
    """On a GPU two writes to one place come in any order, so they must write the same value."""
    seen: dict[int, set[str]] = {}
    for seed in range(200):
        x = torch.empty(40)
        fill(x, "nonfinite", seed)
        for place in (~torch.isfinite(x)).nonzero().view(-1).tolist():
            seen.setdefault(place, set()).add(repr(x[place].item()))
    assert len(seen) > 30 and all(len(values) == 1 for values in seen.values())
    assert {value for values in seen.values() for value in values} == {"nan", "inf", "-inf"}
