# accepted: a view by groups, then the same in one operation for weight and bias
# problem: group_norm
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        grouped = x.reshape(x.shape[0], 4, -1)
        grouped = grouped - grouped.mean(-1, keepdim=True)
        grouped = grouped / torch.sqrt(grouped.square().mean(-1, keepdim=True) + 1e-5)
        return torch.addcmul(
            self.norm.bias.view(-1, 1, 1), grouped.view_as(x), self.norm.weight.view(-1, 1, 1)
        )
