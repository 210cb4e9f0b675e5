"""A 3x3 convolution, then ReLU, a scale and a shift of each channel.

The stem of a convolutional network whose batch norm is folded after the activation.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.scale = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.shift = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x)) * self.scale + self.shift


batch = 16
in_channels = 3
out_channels = 32
height = 224
width = 224


def get_inputs():
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
