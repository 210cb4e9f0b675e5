"""Products of all pairs of elements of two vectors."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.unsqueeze(1) * b.unsqueeze(0)


rows = 61
columns = 45


def get_inputs():
    return [torch.randn(rows), torch.randn(columns)]


def get_init_inputs():
    return []
