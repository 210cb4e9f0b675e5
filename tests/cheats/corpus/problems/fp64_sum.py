"""Sums of rows of float64."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=-1)


rows = 48
columns = 130


def get_inputs():
    return [torch.randn(rows, columns, dtype=torch.float64)]


def get_init_inputs():
    return []
