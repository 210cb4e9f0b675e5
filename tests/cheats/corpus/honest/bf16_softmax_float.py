# accepted: in float32, rounded once
# problem: bf16_softmax
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.float().softmax(-1).bfloat16()
