# accepted: nine shifted views of a padded copy, largest of all
# problem: max_pool
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        padded = F.pad(x, (1, 1, 1, 1), value=float("-inf"))
        return padded.unfold(2, 3, 2).unfold(3, 3, 2).amax((-1, -2)).contiguous()
