"""A linear layer, summed over its features."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).sum(dim=1, keepdim=True)


rows = 33
features = 48
hidden = 40


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features, hidden]
