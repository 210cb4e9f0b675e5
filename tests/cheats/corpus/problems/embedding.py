"""Rows of a table by number."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 24)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.table(index)


batch = 6
length = 11


def get_inputs():
    return [torch.randint(0, 50, (batch, length))]


def get_init_inputs():
    return []
