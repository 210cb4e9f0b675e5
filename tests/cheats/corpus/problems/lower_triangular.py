"""Product of two lower triangular matrices."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(torch.matmul(a, b))


size = 45


def get_inputs():
    return [torch.tril(torch.randn(size, size)), torch.tril(torch.randn(size, size))]


def get_init_inputs():
    return []
