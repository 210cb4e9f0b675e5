"""Weights where they lie: found at once, and any that was replaced is noticed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernelwright.execute.held import Held
from kernelwright.graph.capture import module_tensors


def model() -> nn.Module:
    made = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Module())
    made[2].table = torch.arange(3.0)  # type: ignore[assignment]
    return made


NAMES = sorted(module_tensors(model()))


def test_all_tensors_are_found() -> None:
    made = model()
    held = Held.of(made, NAMES)
    assert held is not None
    found = held.tensors()
    assert found is not None and list(found) == NAMES
    assert all(found[name] is module_tensors(made)[name] for name in NAMES)
    with torch.no_grad():
        made[0].weight.mul_(2)
    assert held.tensors() is found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["replaced", "deleted", "its part replaced"])
def test_what_changed_is_noticed(name: str, how: str) -> None:
    made = model()
    held = Held.of(made, NAMES)
    owner, _, key = name.rpartition(".")
    part = made.get_submodule(owner)
    if how == "deleted":
        delattr(part, key)
    elif how == "replaced":
        old = getattr(part, key)
        new = old.detach().clone()
        setattr(part, key, nn.Parameter(new) if isinstance(old, nn.Parameter) else new)
    else:
        made[int(owner)] = nn.Module()
        part = made[int(owner)]
    assert held is not None
    if how == "its part replaced":  # the old part still holds its own; `likeness` sees that parts changed
        assert held.tensors() is not None
    else:
        assert held.tensors() is None


def test_a_tensor_that_is_not_there_or_is_computed_has_no_place() -> None:
    made = model()
    assert Held.of(made, ["0.none"]) is None
    nn.utils.parametrizations.weight_norm(made[0])
    assert Held.of(made, ["0.weight"]) is None
