# accepted: keeps memory for what lies between, and fills all of it in each call
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(size) + 0.5)
        self._scratch = None

    def forward(self, x):
        if self._scratch is None or self._scratch.shape != x.shape:
            self._scratch = torch.empty_like(x)
        torch.mul(x, x, out=self._scratch)
        scale = torch.rsqrt(self._scratch.mean(-1, keepdim=True) + 1e-6)
        return torch.relu(x * scale * self.scale)
