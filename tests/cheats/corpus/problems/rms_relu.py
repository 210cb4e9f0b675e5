"""RMS norm with a weight, then ReLU."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        return torch.relu(x * scale * self.weight)


rows = 96
features = 250


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
