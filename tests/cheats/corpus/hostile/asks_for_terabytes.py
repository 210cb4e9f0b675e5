# rejected (contract, safety): more memory than there is
# problem: mish
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.zeros(1 << 42)
        return nn.functional.mish(x) + room[0]
