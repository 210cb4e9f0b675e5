"""Mean triplet margin loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, margin=1.0)


rows = 50
columns = 31


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows, columns), torch.randn(rows, columns)]


def get_init_inputs():
    return []
