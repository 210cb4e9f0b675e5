"""Parts that do more than compute are found out by running a copy of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from integrate_cases import Gated, RootMeanSquare
from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.integrate.trial_run import does_more


class Keeps(nn.Module):
    """Does one thing more, which `how` names."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.seen, self.calls, self.table = how, [torch.zeros(1)], 0, {"last": torch.zeros(1)}

    def forward(self, x: torch.Tensor) -> Any:
        y = x * 2
        if self.how == "attribute":
            self.gain = y
        elif self.how == "counter":
            self.calls += 1
        elif self.how == "list":
            self.seen.append(y)
        elif self.how == "dictionary":
            self.table["last"] = y
        elif self.how == "argument":
            return x
        elif self.how == "view":
            return {"first": x[:1], "all": y}
        return y


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("attribute", "gain"), ("counter", "calls"), ("list", "seen"), ("dictionary", "table"),
        ("argument", "argument"), ("view", "view"), ("nothing", ""),
    ],
)  # fmt: skip
def test_what_a_part_does_beside_computing(how: str, said: str) -> None:
    module, x = Keeps(how), torch.ones(3)
    why = does_more(module, (x,))
    assert said in why and bool(why) == bool(said)
    assert len(module.seen) == 1 and module.calls == 0 and torch.equal(x, torch.ones(3))


def test_parts_that_only_compute() -> None:
    assert does_more(RootMeanSquare(8), (torch.ones(2, 8),)) == ""
    assert does_more(Gated(), (torch.ones(2, 8),)) == ""
    assert "returns" in does_more(nn.Identity(), (torch.ones(2),))


def test_a_part_that_does_not_run_alone() -> None:
    with pytest.raises(UsageError, match="does not run"):
        does_more(nn.Linear(3, 4), (torch.ones(5),))
