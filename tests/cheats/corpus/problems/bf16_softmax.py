"""Softmax of bfloat16."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


rows = 48
columns = 130


def get_inputs():
    return [torch.randn(rows, columns).bfloat16()]


def get_init_inputs():
    return []
