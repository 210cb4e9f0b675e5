"""Root-mean-square norm over the features of each token, scaled, then GELU.

Pre-normalization of a transformer block whose feed-forward starts with the activation.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features) + 0.1 * torch.randn(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return F.gelu(x * scale * self.weight)


tokens = 8192
features = 4096


def get_inputs():
    return [torch.randn(tokens, features)]


def get_init_inputs():
    return [features]
