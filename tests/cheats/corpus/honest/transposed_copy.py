# accepted: an empty tensor of the result's shape, and one copy
# problem: transposed
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = x.new_empty(x.shape[1], x.shape[0])
        out.copy_(x.t())
        return out
