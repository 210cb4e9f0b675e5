# accepted: bias and product in one call, ReLU in place on what it gave
# problem: linear_relu
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        return torch.addmm(self.linear.bias, x, self.linear.weight.t()).relu_()
