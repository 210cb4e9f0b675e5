# accepted: works on a channels-last copy and hands back the usual layout
# problem: instance_norm
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels)

    def forward(self, x):
        last = x.contiguous(memory_format=torch.channels_last)
        variance, mean = torch.var_mean(last, dim=(2, 3), correction=0, keepdim=True)
        return ((last - mean) / torch.sqrt(variance + 1e-5)).contiguous()
