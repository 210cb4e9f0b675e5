"""A linear layer followed by GELU: a product whose epilogue matters.

The first half of a small feed-forward layer, as in Swin's first stages or MLP-Mixer.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x))


tokens = 16384
features = 256
hidden = 1024


def get_inputs():
    return [torch.randn(tokens, features)]


def get_init_inputs():
    return [features, hidden]
