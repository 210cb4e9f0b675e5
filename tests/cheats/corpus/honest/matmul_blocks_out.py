# accepted: blocks of rows, each written where it belongs
# problem: matmul
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a.new_empty(a.shape[0], b.shape[1])
        for rows, to in zip(a.split(8), out.split(8), strict=True):
            torch.mm(rows, b, out=to)
        return out
