# accepted: the scale is part of the product, and the softmax is the library's
# problem: attention
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        scores = torch.baddbmm(q.new_zeros(1), q, k.transpose(1, 2), beta=0, alpha=0.25)
        return torch.bmm(scores.softmax(-1), v)
