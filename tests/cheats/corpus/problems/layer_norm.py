"""Layer norm over the last dimension, with weight and bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


rows = 48
columns = 130


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns]
