"""Products of pairs of matrices."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


batch = 5
rows = 14
inner = 19
columns = 11


def get_inputs():
    return [torch.randn(batch, rows, inner), torch.randn(batch, inner, columns)]


def get_init_inputs():
    return []
