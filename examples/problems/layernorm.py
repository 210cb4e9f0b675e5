"""Layer norm over the features of each token, with scale and shift.

Twice in every block of an encoder such as BERT or ViT.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch = 64
tokens = 512
features = 768


def get_inputs():
    return [torch.randn(batch, tokens, features)]


def get_init_inputs():
    return [features]
