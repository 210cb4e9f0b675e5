"""What the place of a site costs per call: a guarded kernel, beside a call of torch of the same arguments.

    python -m benchmarks.guarded_call [--calls 20000]

Four modules on a tensor so small that computing costs next to nothing: one that returns its argument, one
that calls `torch.rms_norm`, the norm in several operations, and the same with a kernel in its place. Prints
median and 95th percentile of rounds of twenty calls in random order, and appends them to
results/cpu/guarded_call.jsonl. Not covered: GPUs.
"""

from __future__ import annotations

import argparse
import random
import time
from statistics import median, quantiles
from typing import Any

import torch
from torch import nn

from benchmarks.call_sites import KINDS, WIDTH, Norm
from benchmarks.ledger import Ledger, key_of, out_dir
from benchmarks.model_calls import guarded
from kernelwright.core.target import Target
from kernelwright.measure.environment import environment

ROUND = 20
"""Calls between two readings of the clock."""


class Returns(nn.Module):
    """What a call of a module costs by itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x`."""
        return x


class Fused(Norm):
    """One operation of torch with the same arguments."""

    def forward(self, x: torch.Tensor, scale: Any = None) -> torch.Tensor:
        """As the norm."""
        return torch.rms_norm(x, (WIDTH,), self.weight, self.eps)


def main() -> None:
    """Time the four and append a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=20_000, help="of each module")
    options = parser.parse_args()
    pair = guarded(KINDS["norm"])
    subjects = {
        "returns its argument": Returns().eval(),
        "torch.rms_norm": Fused().eval(),
        "several operations": pair.twin,
        "guarded kernel": pair.site,
    }
    taken = times(subjects, torch.randn(8, WIDTH), options.calls // ROUND)
    if pair.guard.kernel.passed_on or pair.guard.retreat:
        raise SystemExit(f"the kernel did not answer: {pair.guard.kernel.passed_on} {pair.guard.retreat}")
    rows = {name: {"median_us": median(us), "p95_us": quantiles(us, n=20)[-1]} for name, us in taken.items()}
    for name, row in rows.items():
        print(f"{name:22} {row['median_us']:6.2f} us, 95th percentile {row['p95_us']:6.2f}")
    beyond = rows["guarded kernel"]["median_us"] - rows["torch.rms_norm"]["median_us"]
    print(f"a guarded kernel beyond a call of torch: {beyond:.2f} us")
    Ledger(out_dir("cpu") / "guarded_call.jsonl").append(
        key_of("guarded_call", options.calls, torch.__version__),
        calls=options.calls,
        rows=rows,
        beyond_us=beyond,
        environment=environment(Target.parse("cpu")),
    )


def times(subjects: dict[str, nn.Module], x: torch.Tensor, rounds: int) -> dict[str, list[float]]:
    """Microseconds a call, a value for each round."""
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    order = random.Random(0)
    with torch.no_grad():
        for number in range(rounds + 2):
            for name in order.sample(list(subjects), len(subjects)):
                us = _round_us(subjects[name], x)
                taken[name] += [us] if number > 1 else []
    return taken


def _round_us(module: nn.Module, x: torch.Tensor) -> float:
    begun = time.perf_counter_ns()
    for _ in range(ROUND):
        module(x)
    return (time.perf_counter_ns() - begun) / 1e3 / ROUND


if __name__ == "__main__":
    main()
