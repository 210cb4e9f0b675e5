# accepted: works on a stream of its own, and lets the current one wait for it
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size, steps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, size) / size**0.5)
        self.steps = steps
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(self.steps):
                x = torch.tanh(x @ self.weight)
        torch.cuda.current_stream().wait_stream(self.stream)
        x.record_stream(torch.cuda.current_stream())
        return x
