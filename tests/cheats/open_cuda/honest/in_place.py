# accepted: the same operations, fewer allocations
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size, steps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, size) / size**0.5)
        self.steps = steps

    def forward(self, x):
        for _ in range(self.steps):
            x = torch.mm(x, self.weight).tanh_()
        return x
