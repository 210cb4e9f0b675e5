# accepted: mean and variance in one operation, then one fused multiply and add
# problem: layer_norm
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.norm.bias, (x - mean) * torch.rsqrt(variance + 1e-5), self.norm.weight)
