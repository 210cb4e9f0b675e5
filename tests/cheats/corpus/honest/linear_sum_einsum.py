# accepted: weights summed over outputs first: the same for every input, and far less work
# problem: linear_sum
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        column = self.linear.weight.double().sum(0)
        found = torch.einsum("rf,f->r", x.double(), column) + self.linear.bias.double().sum()
        return found.float().unsqueeze(1)
