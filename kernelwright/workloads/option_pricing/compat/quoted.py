"""Prices, Greeks and volatilities as the other libraries quote them: theta for a day, vega and rho for 1 %.

The one place where their conventions meet ours; every drop-in function ends here. `model` is "black",
"black_scholes" or "black_scholes_merton"; arguments are those of `option_pricing.price`, and results come
back in the arguments' own container.
"""

from __future__ import annotations

from typing import Any

from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing.compat.errors import BadArgument, settled
from kernelwright.workloads.option_pricing.native import evaluate_frame, implied_frame

GREEKS = ("delta", "gamma", "theta", "rho", "vega")
"""In the order in which the other libraries list them."""
MODELS = ("black", "black_scholes", "black_scholes_merton")
_DAYS, _PERCENT = 365.0, 0.01


def one(name: str, model: str, given: tuple[Any, ...], on_error: str = "raise") -> Any:
    """`price` or one of `GREEKS`. `given`: flag, underlying, strike, years, rate, volatility and yield."""
    found = getattr(op, name)(*given, model=known(model), on_error="ignore")
    settled(evaluate_frame().faults, on_error)
    return _quoted(name, found)


def greeks(model: str, given: tuple[Any, ...], on_error: str = "raise") -> dict[str, Any]:
    """All of `GREEKS` in one pass, by name."""
    found = op.greeks(*given, model=known(model), on_error="ignore")
    settled(evaluate_frame().faults, on_error)
    return {name: _quoted(name, getattr(found, name)) for name in GREEKS}


def implied(model: str, given: tuple[Any, ...], on_error: str = "raise") -> Any:
    """Implied volatility. `given`: price, flag, underlying, strike, years, rate and yield."""
    found = op.implied_volatility(*given, model=known(model), on_error="ignore")
    settled(implied_frame().faults, on_error)
    return found


def known(model: str) -> Any:
    """The model; BadArgument for one that there is not."""
    if model not in MODELS:
        raise BadArgument(f"model is {model!r}; it must be one of {', '.join(MODELS)}")
    return model


def _quoted(name: str, value: Any) -> Any:
    if name == "theta":
        return value / _DAYS
    return value * _PERCENT if name in ("vega", "rho") else value
