"""A matrix whose rows are scaled, written as a product with a diagonal matrix."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scale: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.diag(scale) @ x


rows = 768
columns = 512


def get_inputs():
    return [torch.randn(rows), torch.randn(rows, columns)]


def get_init_inputs():
    return []
