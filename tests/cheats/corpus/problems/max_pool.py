"""Largest of three by three, in steps of two, with padding."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch = 3
channels = 5
height = 15
width = 18


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
