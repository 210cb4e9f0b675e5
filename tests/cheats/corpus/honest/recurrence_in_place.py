# accepted: steps into one tensor, with one buffer for the state
# problem: recurrence
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, x):
        out = torch.empty_like(x)
        h = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            torch.addcmul(x[:, t], a[:, t], h, out=h)
            out[:, t] = h
        return out
