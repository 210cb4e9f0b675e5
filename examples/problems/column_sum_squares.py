"""Sum of the squares of each column: a reduction over the dimension that is not contiguous.

Second-moment statistics over a batch of tokens, as in Adafactor, calibration and pruning.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * x).sum(dim=0)


tokens = 8192
features = 4096


def get_inputs():
    return [torch.randn(tokens, features)]


def get_init_inputs():
    return []
