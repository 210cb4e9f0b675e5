"""Where a model's time goes, and which parts are taken."""

from __future__ import annotations

import time
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from integrate_cases import ROWS, WIDTH, Block, small
from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.integrate.batch import Batch, batches_of
from kernelwright.integrate.choose import LEAST_SHARE, choose
from kernelwright.integrate.survey import Part, arguments, survey


class Sleeps(nn.Module):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, x: torch.Tensor, twice: bool = False) -> torch.Tensor:
        time.sleep(self.seconds * (2 if twice else 1))
        return x + 1


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.never = Sleeps(0.004), Sleeps(0.002), Sleeps(1.0)
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.second(self.first(x, twice=True)) + self.second(x))


def test_parts_have_their_time_calls_and_forms() -> None:
    parts = {part.name: part for part in survey(Outer().eval(), [Batch.of(torch.ones(2, 4))])}
    assert set(parts) == {"", "first", "second", "linear"}
    assert 0.008 <= parts["first"].seconds < 0.02
    assert 0.004 <= parts["second"].seconds < 0.01 and parts["second"].calls == 2
    assert parts[""].seconds >= parts["first"].seconds + parts["second"].seconds
    assert parts["linear"].library_s == parts["linear"].seconds
    assert parts[""].library_s == pytest.approx(parts["linear"].seconds, rel=0.5, abs=1e-3)
    assert parts["second"].nbytes == 2 * 2 * 2 * 4 * 4 and len(parts["second"].forms) == 1
    assert "True" in parts["first"].forms[0]


def test_times_are_per_batch_and_hooks_are_gone() -> None:
    model = Outer().eval()
    one, two = (survey(model, [Batch.of(torch.ones(2, 4))] * count) for count in (1, 2))
    seconds = [next(part.seconds for part in parts if part.name == "first") for parts in (one, two)]
    assert seconds[1] == pytest.approx(seconds[0], rel=0.5)
    assert all(not part._forward_hooks and not part._forward_pre_hooks for part in model.modules())


def test_arguments_are_copies_by_position() -> None:
    x = torch.ones(2, 4)
    found = arguments(Outer().eval(), [Batch.of(x)], {"first", "linear"})
    assert found["first"][1] is True and torch.equal(found["first"][0], x)
    assert found["first"][0].data_ptr() != x.data_ptr()


def test_a_model_that_raises_is_said_in_one_line() -> None:
    with pytest.raises(UsageError, match="raises on the batches") as error:
        survey(Outer().eval(), [Batch.of(torch.ones(2, 5))])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("given_batches", [None, [], torch.ones(2), "x", [torch.ones(2), (1, 2)]])
def test_batches_that_are_none(given_batches: object) -> None:
    with pytest.raises(UsageError, match="batches"):
        batches_of(given_batches)


def test_equal_parts_are_one_group_and_the_largest_come_first() -> None:
    model = small()
    groups, left = choose(survey(model, [Batch.of(torch.randn(ROWS, WIDTH))]), 1e9)
    names = [[part.name for part in group.parts] for group in groups]
    assert ["blocks.0", "blocks.1"] in names and ["last"] in names
    assert left["blocks.0.norm"] == "a part that holds it is taken"
    assert left["blocks.0.up"] == "its work is a library's"
    assert [group.gain_s for group in groups] == sorted((g.gain_s for g in groups), reverse=True)


def test_without_a_part_what_is_inside_is_taken() -> None:
    parts = survey(small(), [Batch.of(torch.randn(ROWS, WIDTH))])
    cannot = dict.fromkeys(("", "blocks.0", "blocks.1"), "no template")
    groups, left = choose(parts, 1e9, cannot)
    names = [[part.name for part in group.parts] for group in groups]
    assert ["blocks.0.norm", "blocks.1.norm", "last"] in names
    assert ["blocks.0.gate", "blocks.1.gate"] in names
    assert left["blocks.0"] == "no template"


def test_other_constants_are_another_group() -> None:
    model = small()
    model.blocks[1].norm.eps = 0.1
    parts = survey(model, [Batch.of(torch.randn(ROWS, WIDTH))])
    groups, _ = choose(parts, 1e9, dict.fromkeys(("", "blocks.0", "blocks.1"), "no"))
    names = [[part.name for part in group.parts] for group in groups]
    assert ["blocks.1.norm"] in names and ["blocks.0.norm", "last"] in names


NAMES = [".".join(steps) for count in (1, 2, 3) for steps in product("ab", repeat=count)]


@given(
    st.lists(st.floats(0.0, 1.0), min_size=len(NAMES), max_size=len(NAMES)), st.sets(st.sampled_from(NAMES))
)
def test_no_part_that_is_taken_is_inside_another(seconds: list[float], cannot: set[str]) -> None:
    module = Block(4)
    parts = [
        Part(name, module, calls=1, seconds=each, forms=[f"torch.float32[2] {name}"])
        for name, each in zip(NAMES, seconds, strict=True)
    ]
    groups, left = choose(parts, 1.0, dict.fromkeys(cannot, "no"))
    taken = [part.name for group in groups for part in group.parts]
    assert not any(a != b and b.startswith(f"{a}.") for a in taken for b in taken)
    assert set(taken) | set(left) == set(NAMES) and not set(taken) & (set(left) | cannot)
    assert all(part.seconds >= LEAST_SHARE * max(seconds) for group in groups for part in group.parts)
