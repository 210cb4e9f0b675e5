"""Bias, GELU, per-feature scale and residual: a chain of pointwise operations with broadcasting.

What stands between the two products of a feed-forward layer with a layer scale, as in ConvNeXt.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))
        self.gamma = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return residual + self.gamma * F.gelu(x + self.bias)


tokens = 8192
features = 3072


def get_inputs():
    return [torch.randn(tokens, features), torch.randn(tokens, features)]


def get_init_inputs():
    return [features]
