"""A convolution of each channel by itself."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 3
height = 10
width = 9


def get_inputs():
    return [torch.randn(batch, 8, height, width)]


def get_init_inputs():
    return []
