"""Implied volatility under Black-Scholes-Merton."""

from __future__ import annotations

from typing import Any

from kernelwright.workloads.option_pricing.compat import quoted
from kernelwright.workloads.option_pricing.compat.scalar import MERTON, sign, wide


def implied_volatility(price: Any, S: Any, K: Any, t: Any, r: Any, q: Any, flag: Any) -> Any:
    """The volatility of a price. PriceIsBelowIntrinsic or PriceIsAboveMaximum where there is none."""
    paid, *market = wide(price, S, K, t, r, q)
    return quoted.implied(MERTON, (paid, sign(flag), *market))
