"""What the outside clock can resolve: the cost of a call that does nothing.

A null call goes the whole way (request, worker, reply) and is part of every time taken so, on both
sides. It is not subtracted: that would add its scatter and flatter short kernels. Where times are
below twenty times its median, 5 % and more of them is clock, and the status is `unresolved`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kernelwright.measure.stopwatch import Resolution

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench

NULL_CALLS = 31


def outside_resolution(
    bench: Bench, change: Callable[[int], None] | None = None, calls: int = NULL_CALLS
) -> Resolution:
    """Median and 95th percentile of null calls in the worker that runs the kernel, in microseconds.

    `change` is what is done under the clock before each call.
    """
    taken = [bench.null_us("kernel", change) for _ in range(calls)]
    return Resolution(float(np.median(taken)), float(np.quantile(taken, 0.95)))
