# accepted: a scripted function
# problem: swiglu
import torch
import torch.nn as nn


@torch.jit.script
def gated(gate, up):
    return gate * torch.sigmoid(gate) * up


class ModelNew(nn.Module):
    def forward(self, gate, up):
        return gated(gate, up)
