"""How many elements of each row are above a limit."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
        return (x > limit.unsqueeze(1)).sum(dim=1)


rows = 48
columns = 130


def get_inputs():
    return [
        torch.randint(0, 100, (rows, columns), dtype=torch.int32),
        torch.randint(0, 100, (rows,), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
