"""A diagonal matrix, given by its diagonal, times a matrix."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.diag(a) @ b


size = 40
columns = 31


def get_inputs():
    return [torch.randn(size), torch.randn(size, columns)]


def get_init_inputs():
    return []
