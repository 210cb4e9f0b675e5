# rejected (contract): weights of other shapes
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(2 * size))

    def forward(self, x):
        return torch.relu(x * self.weight[: x.shape[-1]])
