"""European options: prices, Greeks and implied volatilities, for one option or for millions.

    from kernelwright.workloads import option_pricing as op

    op.price("c", 100.0, 105.0, 0.5, 0.03, 0.2)
    op.implied_volatility(prices, "c", 100.0, strikes, 0.5, 0.03)
    op.greeks(flags, spots, strikes, years, 0.03, volatilities).delta

README.md has the first example, `pricing` the conventions, `reference` the same in 50 digits.
"""

from kernelwright.workloads.option_pricing.faults import OptionWarning
from kernelwright.workloads.option_pricing.pricing import (
    Greeks,
    SecondOrder,
    delta,
    evaluate,
    gamma,
    greeks,
    implied_volatility,
    price,
    rho,
    second_order,
    theta,
    vega,
)

__all__ = [
    "Greeks", "OptionWarning", "SecondOrder", "delta", "evaluate", "gamma", "greeks", "implied_volatility",
    "price", "rho", "second_order", "theta", "vega",
]  # fmt: skip
