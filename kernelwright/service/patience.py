"""Waiting for a place in the queue: what a client does when it is told to come back."""

from __future__ import annotations

import time
from collections.abc import Callable

from kernelwright.core.errors import EnvironmentFault
from kernelwright.service.answer import Receipt

SHORTEST_S = 0.05


def until_accepted(ask: Callable[[], Receipt], wait_s: float) -> Receipt:
    """Ask until there is a ticket; EnvironmentFault once `wait_s` has passed and the queue is still full."""
    end = time.monotonic() + wait_s
    while True:
        receipt = ask()
        if receipt.ticket is not None:
            return receipt
        after_s = receipt.retry_after_s or SHORTEST_S
        left_s = end - time.monotonic()
        if left_s <= 0:
            raise EnvironmentFault(f"the queue of the verdict service is full; try again in {after_s:.0f} s")
        time.sleep(max(SHORTEST_S, min(after_s, left_s)))
