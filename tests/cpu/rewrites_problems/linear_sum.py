"""A linear layer, scaled, of which only the sum over its outputs is kept, and its logsumexp."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (self.linear(x) / 2.0).sum(dim=1, keepdim=True)
        return torch.logsumexp(y, dim=1, keepdim=True)


batch = 512
features = 256
hidden = 512


def get_inputs():
    return [torch.randn(batch, features)]


def get_init_inputs():
    return [features, hidden]
