"""Greeks under Black-Scholes-Merton, as py_vollib quotes them: theta for a day, vega and rho for 1 %."""

from kernelwright.workloads.option_pricing.compat.scalar import on_yielding

delta = on_yielding("delta")
gamma = on_yielding("gamma")
theta = on_yielding("theta")
vega = on_yielding("vega")
rho = on_yielding("rho")
