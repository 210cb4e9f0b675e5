"""What the outside clock can resolve: the cost of a call that does nothing.

A null call goes the whole way (request, worker, reply) and is part of every time taken so, on both
sides. It is not subtracted: that would add its scatter and flatter short kernels. Where times are
below twenty times its median, 5 % and more of them is clock, and the status is `unresolved`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelwright.measure.stopwatch import Resolution
from kernelwright.measure.witness import Witness

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench

NULL_CALLS = 31


def outside_resolution(bench: Bench, witness: Witness | None = None, calls: int = NULL_CALLS) -> Resolution:
    """Median and 95th percentile of null calls in the worker that runs the kernel, in microseconds.

    What `witness` does around a timed call is done around these too.
    """
    witness = witness or Witness()
    taken = [_null_us(bench, witness) for _ in range(calls)]
    return Resolution(float(np.median(taken)), float(np.quantile(taken, 0.95)))


def _null_us(bench: Bench, witness: Witness) -> float:
    worker = bench.candidate
    try:
        witness.ready(worker, lambda _: None)
        return bench.null_us("kernel", witness.started)
    finally:
        witness.stopped(worker)
