# accepted: everything in float64, rounded at the end
# problem: softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.double(), dim=-1).to(x.dtype)
