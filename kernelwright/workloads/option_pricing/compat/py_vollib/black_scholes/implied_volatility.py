"""Implied volatility under Black-Scholes."""

from __future__ import annotations

from typing import Any

from kernelwright.workloads.option_pricing.compat import quoted
from kernelwright.workloads.option_pricing.compat.scalar import SPOT, sign, wide


def implied_volatility(price: Any, S: Any, K: Any, t: Any, r: Any, flag: Any) -> Any:
    """The volatility of a price. PriceIsBelowIntrinsic or PriceIsAboveMaximum where there is none."""
    paid, *market = wide(price, S, K, t, r)
    return quoted.implied(SPOT, (paid, sign(flag), *market))
