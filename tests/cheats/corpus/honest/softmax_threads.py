# accepted: two threads of Python's take half of the rows each, and are joined
# problem: softmax
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        middle = x.shape[0] // 2

        def part(rows):
            with torch.no_grad():
                out[rows] = torch.softmax(x[rows], -1)

        team = [
            threading.Thread(target=part, args=(rows,)) for rows in (slice(0, middle), slice(middle, None))
        ]
        for one in team:
            one.start()
        for one in team:
            one.join()
        return out
