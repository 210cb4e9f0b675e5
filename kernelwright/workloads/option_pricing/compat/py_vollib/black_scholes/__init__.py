"""Black-Scholes: options on a spot price without dividends."""

from kernelwright.workloads.option_pricing.compat.scalar import on_spot

black_scholes = on_spot("price")
