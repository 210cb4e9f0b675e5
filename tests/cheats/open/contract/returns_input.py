# rejected (contract): writes its input and returns it
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x):
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        return x.mul_(scale).mul_(self.weight).relu_()
