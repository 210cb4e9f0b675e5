"""Looking at a model leaves its buffers as they were."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import kernelwright as kw
from kernelwright.integrate.survey import buffers_kept


class Counts(nn.Module):
    def __init__(self, *, replaces: bool) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.norm = nn.BatchNorm1d(64)
        self.replaces = replaces

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.replaces:
            self.calls = self.calls + 1
        else:
            self.calls += 1
        found: torch.Tensor = torch.tanh(self.norm(x)) * x
        return found


@pytest.mark.parametrize("replaces", [False, True])
def test_a_diagnosis_leaves_buffers_alone(replaces: bool) -> None:
    model = Counts(replaces=replaces).eval()
    tensors = dict(model.named_buffers())
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    kw.diagnose_model(model, [torch.randn(256, 64)])
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.named_buffers())
    assert all(tensor is tensors[name] for name, tensor in model.named_buffers())


def test_buffers_are_put_back_where_a_model_raises() -> None:
    model = Counts(replaces=True)
    with pytest.raises(RuntimeError), buffers_kept(model):
        model(torch.ones(2, 3))
    assert float(model.calls) == 0
