# accepted: the diagonal matrix is made in place of zeros, and multiplied: slow, and the same
# problem: diagonal
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        square = a.new_zeros(a.shape[0], a.shape[0])
        square.diagonal().copy_(a)
        return torch.mm(square, b)
