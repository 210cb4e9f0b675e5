"""Implied volatility under Black-76. The rate stands before the time here, as in py_vollib."""

from __future__ import annotations

from typing import Any

from kernelwright.workloads.option_pricing.compat import quoted
from kernelwright.workloads.option_pricing.compat.scalar import BLACK, sign, wide


def implied_volatility_of_discounted_option_price(
    discounted_option_price: Any, F: Any, K: Any, r: Any, t: Any, flag: Any
) -> Any:
    """The volatility of a price today. PriceIsBelowIntrinsic or PriceIsAboveMaximum where there is none."""
    paid, *market = wide(discounted_option_price, F, K, t, r)
    return quoted.implied(BLACK, (paid, sign(flag), *market))


implied_volatility = implied_volatility_of_discounted_option_price


def implied_volatility_of_undiscounted_option_price(
    undiscounted_option_price: Any, F: Any, K: Any, t: Any, flag: Any
) -> Any:
    """The volatility of a price at expiry."""
    return implied_volatility(undiscounted_option_price, F, K, 0.0, t, flag)
