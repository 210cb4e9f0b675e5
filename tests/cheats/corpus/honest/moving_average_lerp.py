# accepted: the buffer moves a tenth of the way to the mean
# problem: moving_average
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.register_buffer("average", torch.zeros(columns))

    def forward(self, x):
        mean = x.mean(0)
        self.average.copy_(0.9 * self.average + 0.1 * mean)
        return torch.sub(x, self.average)
