"""All rules together on random graphs: both forms agree in float64, and nothing is rewritten for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rewrites_cases import apply, drawn, graph_of, same
from torch import Tensor

from kernelwright.graph.rewrites import MOVED, SIMPLER
from kernelwright.graph.rewrites.engine import price, rewritten

Step = Callable[[Tensor, Tensor], Tensor]
"""From a matrix and a square weight of as many columns to a matrix."""

STEPS: list[Step] = [
    lambda x, w: x @ w,
    lambda x, w: F.linear(x, w, w[0]),
    lambda x, w: torch.relu(x),
    lambda x, w: x.clamp(-0.5, 1.5),
    lambda x, w: F.hardtanh(x),
    lambda x, w: x * 2.0,
    lambda x, w: x / 4.0 + 1.0,
    lambda x, w: 1.0 - x,
    lambda x, w: x * w[-1],
    lambda x, w: x + w[0],
    lambda x, w: x - x.mean(0),
    lambda x, w: x.sum(1, keepdim=True) + x,
    lambda x, w: x.mean(1, keepdim=True).expand(-1, w.shape[0]),
    lambda x, w: torch.logsumexp(x, 1, keepdim=True) * w[0],
    lambda x, w: torch.softmax(x, 1),
    lambda x, w: x.t().reshape(x.shape),
    lambda x, w: x.t().t(),
    lambda x, w: torch.triu(x @ w),
    lambda x, w: torch.diag(x.sum(1)) @ x,
    lambda x, w: x @ torch.diag(w[0]),
    lambda x, w: (x @ w).sum(0) + x,
    lambda x, w: (torch.bmm(x[None], w[None]) * w[0] + w[-1])[0],
    lambda x, w: torch.sigmoid((x @ w * 0.5 + w[0]).mean(1, keepdim=True)) * x,
    lambda x, w: F.avg_pool1d(F.avg_pool1d(x[None], 1), 1)[0],
]
SIZE = st.sampled_from([1, 2, 5, 8, 9])


@settings(max_examples=50, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=6), SIZE, SIZE, st.integers(0, 999))
def test_all_rules_together(chain: list[Step], rows: int, columns: int, seed: int) -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        for step in chain:
            x = step(x, w)
        return x

    args = [drawn(rows, columns, seed=seed), drawn(columns, columns, seed=seed + 1) / columns]
    captured = graph_of(function, args, inputs=1)
    everything, names = apply([*MOVED, *SIMPLER], captured)
    same(captured, everything, args)
    assert len(names) < 40 * len(captured.nodes)
    form = rewritten(captured)
    same(captured, form.captured, args)
    least = price(apply(SIMPLER, captured)[0])  # of the graph as written the price may miss shared slices
    assert (form.after.floor, form.after.work) <= (least.floor, least.work)
    assert form.after == price(form.captured)
    again = rewritten(form.captured)
    assert again.after == form.after


def test_a_graph_that_draws_random_numbers_is_left_alone() -> None:
    captured = replace(graph_of(lambda x: torch.relu(torch.relu(x)), [drawn(3, 3)]), random=True)
    assert rewritten(captured).captured is captured
    assert rewritten(captured).rules == ()
