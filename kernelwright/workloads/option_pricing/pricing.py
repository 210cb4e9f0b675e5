"""Prices, Greeks and implied volatilities of European options under Black-76 and Black-Scholes-Merton.

Conventions of every function here. `underlying` is the forward for model "black", the spot for
"black_scholes" and "black_scholes_merton"; `years` is the time to expiry; `rate`, `dividend_yield` and
`volatility` are per year, continuously compounded, 0.05 for 5 %. Greeks are plain derivatives: `vega` and
`rho` for a change of 1.00 (not of one percent), `theta` for a year of passing time (not a day).

Arguments are numbers, arrays, pandas Series or torch tensors on the CPU, and broadcast; results come back
alike (`containers`). `flag` is "c" or "p", or +1 or -1. `on_error` says what is done about options that have
no answer: "raise" a UsageError, "warn", or "ignore"; their result is NaN.

Formulas: Black, "The pricing of commodity contracts" (1976); Merton, "Theory of rational option pricing"
(1973). How they are computed: `kernels/black.h`. Not covered: American exercise, discrete dividends,
second-order Greeks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernelwright.workloads.option_pricing.arguments import answers, model_number
from kernelwright.workloads.option_pricing.faults import (
    INVALID,
    POLICIES,
    TOTAL,
    OnError,
    settle,
    unknown_policy,
)
from kernelwright.workloads.option_pricing.flags import require_known
from kernelwright.workloads.option_pricing.native import Frame, evaluate_frame, implied_frame

MERTON = "black_scholes_merton"


class Greeks(NamedTuple):
    """Price and first-order sensitivities of each option."""

    price: Any
    delta: Any
    """By the underlying."""
    gamma: Any
    """Of delta by the underlying."""
    vega: Any
    """By volatility, for 1.00."""
    theta: Any
    """By passing time, for a year."""
    rho: Any
    """By the rate, for 1.00; the spot is held for spot models, the forward for Black-76."""


_ALL = (1 << len(Greeks._fields)) - 1


def greeks(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Greeks:  # fmt: skip
    """Price and all Greeks in one pass."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return Greeks(*_evaluate(given, _ALL, model, on_error))


def price(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """What an option is worth today."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, 1 << 0, model, on_error)[0]


def delta(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by the underlying."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, 1 << 1, model, on_error)[0]


def gamma(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of delta by the underlying."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, 1 << 2, model, on_error)[0]


def vega(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by volatility, for a change of 1.00."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, 1 << 3, model, on_error)[0]


def theta(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by passing time, for a year; negative where time costs."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, 1 << 4, model, on_error)[0]


def rho(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by the rate, for a change of 1.00."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, 1 << 5, model, on_error)[0]


def implied_volatility(
    price: Any, flag: Any, underlying: Any, strike: Any, years: Any, rate: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """The volatility at which an option is worth `price`, as precise as the price determines it.

    0 where the price is the intrinsic value to within rounding: its volatility is lost in it. No answer below
    the intrinsic value, and at or above the bound (discounted forward of a call, discounted strike of a put).
    Time value below 1e-300 of the smaller of forward and strike counts as none.
    """
    return _implied((price, flag, underlying, strike, years, rate, dividend_yield), model, on_error)


def _implied(given: tuple[Any, ...], model: str, on_error: str) -> Any:
    price, flag, underlying, strike, years, rate, dividend_yield = given
    number = model_number(model, dividend_yield)
    values = (underlying, strike, years, rate, dividend_yield, price)
    return _answers(implied_frame(), flag, values, 1, (number,), on_error)[0]


def _evaluate(given: tuple[Any, ...], wanted: int, model: str, on_error: str) -> list[Any]:
    """Rows for the bits of `wanted`: price, delta, gamma, vega, theta, rho."""
    flag, underlying, strike, years, rate, volatility, dividend_yield = given
    number = model_number(model, dividend_yield)
    values = (underlying, strike, years, rate, dividend_yield, volatility)
    return _answers(evaluate_frame(), flag, values, wanted.bit_count(), (wanted, number), on_error)


def _answers(
    frame: Frame, flag: Any, values: tuple[Any, ...], rows: int, numbers: tuple[int, ...], on_error: str
) -> list[Any]:
    if on_error not in POLICIES:
        raise unknown_policy(on_error)
    found = answers(frame, flag, values, rows, numbers)
    if frame.faults[TOTAL]:
        if frame.faults[INVALID]:
            require_known(flag)
        settle(frame.faults, on_error)
    return found
