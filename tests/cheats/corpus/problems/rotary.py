"""Rotary position embedding by given cosines and sines."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin


batch = 3
length = 14
half = 16


def get_inputs():
    return [
        torch.randn(batch, length, 2 * half),
        torch.cos(torch.rand(length, 2 * half) * 6),
        torch.sin(torch.rand(length, 2 * half) * 6),
    ]


def get_init_inputs():
    return []
