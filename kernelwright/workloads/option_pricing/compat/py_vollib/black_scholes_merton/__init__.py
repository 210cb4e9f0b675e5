"""Black-Scholes-Merton: options on a spot price with a continuous dividend yield."""

from kernelwright.workloads.option_pricing.compat.scalar import on_yielding

black_scholes_merton = on_yielding("price")
