"""SwiGLU: the SiLU of a gate times the value beside it.

The activation of the feed-forward layers of LLaMA, Mistral and Qwen.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * up


tokens = 2048
features = 11008


def get_inputs():
    return [torch.randn(tokens, features), torch.randn(tokens, features)]


def get_init_inputs():
    return []
