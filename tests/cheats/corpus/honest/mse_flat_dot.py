# accepted: the differences' product with themselves, over their count
# problem: mse
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, given, target):
        apart = (given - target).flatten().double()
        return (apart @ apart / apart.numel()).float()
