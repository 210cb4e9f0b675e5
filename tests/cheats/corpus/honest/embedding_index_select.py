# accepted: rows selected by a flat index
# problem: embedding
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 24)

    def forward(self, index):
        return torch.index_select(self.table.weight, 0, index.flatten()).view(*index.shape, -1)
