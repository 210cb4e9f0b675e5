# accepted: another order of the same operations
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True) / x.shape[-1] ** 0.5
        return torch.clamp_min(x / torch.sqrt(norm * norm + 1e-6) * self.weight, 0)
