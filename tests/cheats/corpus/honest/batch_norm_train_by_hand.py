# accepted: the statistics by hand, running ones moved in place
# problem: batch_norm_train
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm = self.norm
        flat = x.transpose(0, 1).flatten(1)
        mean = flat.mean(dim=1)
        variance = (flat - mean[:, None]).square().mean(dim=1)
        count = flat.shape[1]
        norm.num_batches_tracked.add_(1)
        norm.running_mean.mul_(0.9).add_(mean, alpha=0.1)
        norm.running_var.mul_(0.9).add_(variance * (count / (count - 1)), alpha=0.1)
        scale = norm.weight * torch.rsqrt(variance + 1e-5)
        return (x - mean.view(1, -1, 1, 1)) * scale.view(1, -1, 1, 1) + norm.bias.view(1, -1, 1, 1)
