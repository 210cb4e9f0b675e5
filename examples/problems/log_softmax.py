"""Log-softmax over a vocabulary.

The last step of a language model before its loss, or when sequences are scored.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(logits, dim=-1)


tokens = 512
vocabulary = 50257


def get_inputs():
    return [torch.randn(tokens, vocabulary)]


def get_init_inputs():
    return []
