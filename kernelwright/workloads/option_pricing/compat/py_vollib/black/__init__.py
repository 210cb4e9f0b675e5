"""Black-76: options on a forward or futures price."""

from __future__ import annotations

from typing import Any

from kernelwright.workloads.option_pricing.compat.scalar import on_forward

black = on_forward("price")


def undiscounted_black(F: Any, K: Any, sigma: Any, t: Any, flag: Any) -> Any:
    """The price at expiry, not discounted to today."""
    return black(flag, F, K, t, 0.0, sigma)
