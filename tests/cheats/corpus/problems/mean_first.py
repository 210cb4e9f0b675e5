"""Mean over the first dimension."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mean(x, dim=0)


rows = 90
columns = 43


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
