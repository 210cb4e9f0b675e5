# rejected (contract, safety): no end, and no limit, on the stack of the interpreter itself
# problem: mish
import sys

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        sys.setrecursionlimit(10**9)

        def deeper(n):
            return max([n], key=lambda one: deeper(one + 1))

        return deeper(0)
