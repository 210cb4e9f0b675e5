"""Worker side of the outside clock: memory touched beforehand, and sentinels.

Sentinels are fixed pieces of work whose times show whether the machine holds still.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

_COPY_FLOATS = 8 << 20
_PRODUCT = 512
_REPEATS = 3


def sentinels(state: dict[str, Any]) -> dict[str, float]:
    """Microseconds of a copy of 32 MiB and of a product of 512 squared; shortest of three."""
    if "sentinels" not in state:
        source, square = torch.ones(_COPY_FLOATS), torch.ones(_PRODUCT, _PRODUCT)
        state["sentinels"] = (source, torch.empty_like(source), square, torch.empty_like(square))
    source, sink, square, product = state["sentinels"]
    return {
        "copy_us": _shortest_us(lambda: sink.copy_(source)),
        "product_us": _shortest_us(lambda: torch.mm(square, square, out=product)),
    }


def prefault(state: dict[str, Any], *, nbytes: int) -> None:
    """Write `nbytes` of memory once and free them; the allocator keeps them for later calls."""
    if state.get("prefaulted", 0) < nbytes:
        torch.empty(nbytes, dtype=torch.uint8).fill_(0)
        state["prefaulted"] = nbytes


def _shortest_us(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter_ns()
        work()
        taken.append((time.perf_counter_ns() - start) / 1e3)
    return min(taken)


class StandIn:
    """The reference in the place of a kernel: for series of eager against itself through the whole path."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def run(self, args: list[Any], *, poison: bool = False) -> Any:
        """What the reference returns for `args`."""
        with torch.no_grad():
            return self._module(*args)

    def close(self) -> None:
        """Nothing is held."""


def stand_in(state: dict[str, Any]) -> None:
    """Let the subject `kernel` be the eager reference in this worker."""
    bench = state["bench"]
    bench.runner = StandIn(bench.reference.module)
