# accepted: the library's own norm, called with weights that are looked up at each call
# problem: layer_norm
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias, 1e-5)
