"""Greeks under Black-76, as py_vollib quotes them: theta for a day, vega and rho for 1 %."""

from kernelwright.workloads.option_pricing.compat.scalar import on_forward

delta = on_forward("delta")
gamma = on_forward("gamma")
theta = on_forward("theta")
vega = on_forward("vega")
rho = on_forward("rho")
