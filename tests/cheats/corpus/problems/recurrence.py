"""A linear recurrence along each row: h = a * h + x."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros_like(x[:, 0])
        steps = []
        for t in range(x.shape[1]):
            h = a[:, t] * h + x[:, t]
            steps.append(h)
        return torch.stack(steps, dim=1)


rows = 30
steps = 12


def get_inputs():
    return [torch.rand(rows, steps), torch.randn(rows, steps)]


def get_init_inputs():
    return []
