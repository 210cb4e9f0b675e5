"""Attention of one head, not fused."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1)) / 4.0
        return torch.matmul(torch.softmax(scores, dim=-1), v)


batch = 3
length = 22
width = 16


def get_inputs():
    return [
        torch.randn(batch, length, width),
        torch.randn(batch, length, width),
        torch.randn(batch, length, width),
    ]


def get_init_inputs():
    return []
