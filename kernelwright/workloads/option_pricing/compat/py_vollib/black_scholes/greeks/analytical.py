"""Greeks under Black-Scholes, as py_vollib quotes them: theta for a day, vega and rho for 1 %."""

from kernelwright.workloads.option_pricing.compat.scalar import on_spot

delta = on_spot("delta")
gamma = on_spot("gamma")
theta = on_spot("theta")
vega = on_spot("vega")
rho = on_spot("rho")
