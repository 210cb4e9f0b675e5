# accepted: hands both results back as a list, from one sort of a copy
# problem: two_results
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        top, _ = torch.topk(x, 1, dim=-1)
        top = torch.where(x.isnan().any(-1), float("nan"), top.squeeze(-1))
        return [x.sum(-1) / x.shape[-1], top]
