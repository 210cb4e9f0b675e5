"""Mean of windows of four along the last dimension."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.AvgPool1d(4, stride=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch = 3
channels = 7
length = 64


def get_inputs():
    return [torch.randn(batch, channels, length)]


def get_init_inputs():
    return []
