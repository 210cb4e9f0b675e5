"""Sum over the middle dimension, which is kept."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=1, keepdim=True)


batch = 6
rows = 50
columns = 21


def get_inputs():
    return [torch.randn(batch, rows, columns)]


def get_init_inputs():
    return []
