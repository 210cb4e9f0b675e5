# accepted: windows as a strided view, and one product
# problem: conv1d
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 10, 5, padding=2)

    def forward(self, x):
        windows = F.pad(x, (2, 2)).unfold(2, 5, 1)
        return torch.einsum("nclk,fck->nfl", windows, self.conv.weight) + self.conv.bias.view(1, -1, 1)
