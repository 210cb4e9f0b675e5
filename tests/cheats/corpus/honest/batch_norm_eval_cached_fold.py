# accepted: weights are folded once, and again whenever any of them no longer holds what was folded
# problem: batch_norm_eval
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self._of = None

    def _factors(self):
        now = torch.stack([self.norm.weight, self.norm.bias, self.norm.running_mean, self.norm.running_var])
        if self._of is None or not torch.equal(now, self._of):
            weight, bias, mean, variance = now.double()
            scale = weight / torch.sqrt(variance + 1e-5)
            self._of, self._scale, self._shift = (
                now,
                scale.view(-1, 1, 1),
                (bias - mean * scale).view(-1, 1, 1),
            )
        return self._scale, self._shift

    def forward(self, x):
        scale, shift = self._factors()
        return torch.relu(x * scale + shift).float()
