# rejected (contract, safety): no end, and no limit
# problem: mish
import sys

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        sys.setrecursionlimit(10**9)

        def deeper(n):
            return [deeper(m) for m in range(n, n + 1)]

        return deeper(0)
