"""Mean hinge loss of predictions and signs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.mean(torch.clamp(1 - given * target, min=0))


rows = 400


def get_inputs():
    return [torch.randn(rows), torch.randint(0, 2, (rows,)).float() * 2 - 1]


def get_init_inputs():
    return []
