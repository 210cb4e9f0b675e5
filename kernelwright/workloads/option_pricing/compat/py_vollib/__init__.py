"""py_vollib's modules by their own paths: `black`, `black_scholes` and `black_scholes_merton`.

    from kernelwright.workloads.option_pricing.compat.py_vollib.black_scholes import black_scholes
    from ....compat.py_vollib.black_scholes.implied_volatility import implied_volatility
    from ....compat.py_vollib.black_scholes.greeks.analytical import delta, gamma, theta, vega, rho

Not covered: `greeks.numerical` (differences of what `analytical` has exactly), `ref_python`, the normalised
functions of `black`.
"""
