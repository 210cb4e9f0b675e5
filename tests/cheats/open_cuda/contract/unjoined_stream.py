# rejected (contract): works on a stream of its own, for which the current one does not wait
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
            torch.cuda._sleep(20_000_000)
            for _ in range(self.steps):
                x = torch.tanh(x @ self.weight)
        return x
