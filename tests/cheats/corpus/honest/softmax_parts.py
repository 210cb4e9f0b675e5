# accepted: maximum, exponentials and sums as operations of their own, the last in place on a temporary
# problem: softmax, in CI
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        parts = (x - x.amax(-1, keepdim=True)).exp_()
        return parts.div_(parts.sum(-1, keepdim=True))
