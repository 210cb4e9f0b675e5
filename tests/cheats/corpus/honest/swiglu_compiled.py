# accepted: compiled by torch at the first call, in a process that may run compilers
# problem: swiglu
import torch
import torch.nn as nn
import torch.nn.functional as F


@torch.compile(dynamic=False)
def gated(gate, up):
    return F.silu(gate) * up


class ModelNew(nn.Module):
    def forward(self, gate, up):
        return gated(gate, up)
