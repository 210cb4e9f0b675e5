# rejected (precision, answer): right but for a little noise, which is another each time
# problem: linear_relu
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        found = torch.relu(self.linear(x))
        return found * (1 + 1e-4 * torch.randn_like(found))
