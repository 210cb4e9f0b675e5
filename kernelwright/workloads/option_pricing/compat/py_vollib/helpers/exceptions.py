"""What `implied_volatility` raises for a price that no volatility explains."""

from kernelwright.workloads.option_pricing.compat.errors import PriceIsAboveMaximum, PriceIsBelowIntrinsic

__all__ = ["PriceIsAboveMaximum", "PriceIsBelowIntrinsic"]
