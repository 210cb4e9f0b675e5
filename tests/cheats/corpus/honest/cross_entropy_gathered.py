# accepted: a log-sum-exp for each row less the logit that is meant
# problem: cross_entropy
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, logits, target):
        chosen = logits.gather(1, target.unsqueeze(1)).squeeze(1)
        return (torch.logsumexp(logits, 1) - chosen).mean()
