"""Half precision: a sum of two, then ReLU."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)


rows = 40
columns = 99


def get_inputs():
    return [torch.randn(rows, columns).half(), torch.randn(rows, columns).half()]


def get_init_inputs():
    return []
