# accepted: the state is changed in place, in two operations
# problem: in_place
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, state, step):
        state.copy_(torch.add(state, step, alpha=0.5))
        return state.square()
