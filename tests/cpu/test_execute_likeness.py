"""What a kernel took as constant from around its module is noticed when it changes, wherever it lies."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest
import torch
from torch import nn

from kernelwright.execute.likeness import Watch, likeness

FACTOR = 1.0
UNREAD = 1.0


class Base(nn.Module):
    base = 2


class Part(Base):
    scale = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.config = types.SimpleNamespace(alpha=0.5, mode="sum", names=["a"], other=torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight * self.scale * self.base * self.config.alpha * FACTOR


class Whole(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Part()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.part(x)
        return found


def in_config(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    whole.part.config.alpha = 2.0


def in_text_of_config(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    whole.part.config.mode = "mean"


def without_an_attribute(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    del whole.part.config.alpha


def by_type_alone(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Part, "scale", 1)


def in_its_class(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Part, "scale", 3.0)


def in_a_base_class(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Base, "base", 5)


def in_a_global(whole: Whole, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "FACTOR", 100.0)


CHANGES = [
    in_config,
    in_text_of_config,
    without_an_attribute,
    by_type_alone,
    in_its_class,
    in_a_base_class,
    in_a_global,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_constant_that_changed_is_noticed(
    change: Callable[[Whole, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Whole()
    before, watch = likeness(whole), Watch(whole)
    assert watch.holds()
    change(whole, monkeypatch)
    assert not watch.holds()
    assert likeness(whole) != before


def test_equal_constants_are_alike_and_so_are_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Whole()
    before, watch = likeness(whole), Watch(whole)
    with torch.no_grad():
        whole.part.weight.mul_(2)
    monkeypatch.setitem(globals(), "UNREAD", 2.0)
    assert watch.holds() and likeness(whole) == before
    whole.part.config = types.SimpleNamespace(**vars(whole.part.config))
    assert likeness(whole) == before == likeness(Whole())
