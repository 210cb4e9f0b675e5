"""A convolution along one dimension, with bias and padding."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(6, 10, 5, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 3
length = 40


def get_inputs():
    return [torch.randn(batch, 6, length)]


def get_init_inputs():
    return []
