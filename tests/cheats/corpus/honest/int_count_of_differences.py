# accepted: signs of differences, counted in int64
# problem: int_count
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, limit):
        return torch.sum(torch.sign(x - limit[:, None]).clamp_min_(0), dim=1)
