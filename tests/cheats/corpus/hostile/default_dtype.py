# rejected (precision, answer, contract): the process's default type becomes half, and the constants with it
# problem: standard_deviation
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float16)
torch.set_flush_denormal(True)


class ModelNew(nn.Module):
    def forward(self, x):
        share = torch.tensor(1 / (x.shape[-1] - 1))
        apart = x - x.mean(-1, keepdim=True)
        return torch.sqrt((apart * apart).sum(-1) * share)
