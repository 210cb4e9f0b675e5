# accepted: odd but honest style: a try that never fails, a guard that passes, a class inside a class
# problem: rms_relu
import contextlib

import torch
import torch.nn as nn

try:
    from torch import rsqrt as reciprocal_root
except ImportError:  # no torch without it, but who knows
    reciprocal_root = None


class ModelNew(nn.Module):
    class Options:
        stages = 2  # no CUDA graphs, no streams, no time.perf_counter

    def __init__(self, size):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size))

    def forward(self, x):
        if self.training:
            pass
        with contextlib.suppress(NotImplementedError):
            scale = reciprocal_root(x.square().mean(-1, True) + 1e-6)
        return torch.relu_(x * scale * self.gain)
