"""Prices, Greeks and implied volatilities of European options under Black-76 and Black-Scholes-Merton.

Conventions of every function here. `underlying` is the forward for model "black", the spot for
"black_scholes" and "black_scholes_merton"; `years` is the time to expiry; `rate`, `dividend_yield` and
`volatility` are per year, continuously compounded, 0.05 for 5 %. Greeks are plain derivatives: `vega` and
`rho` for a change of 1.00 (not of one percent), `theta` for a year of passing time (not a day).

Arguments are numbers, arrays, pandas Series or torch tensors, and broadcast; results come back alike
(`containers`), and what lies on a GPU stays there (`device`). `flag` is "c" or "p", or +1 or -1. `on_error`
says what is done about options that have no answer: "raise" a UsageError, "warn", or "ignore"; their result
is NaN.

Where years or volatility are 0, results are the limits as they fall to 0, all else held: at the money some
are infinite (gamma), and NaN where it matters which of the two falls first.

Formulas: Black, "The pricing of commodity contracts" (1976); Merton, "Theory of rational option pricing"
(1973). How they are computed: `kernels/black.h`. Not covered: American exercise, discrete dividends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kernelwright.core.errors import UsageError
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
from kernelwright.workloads.option_pricing.kernels.results import FIRST, RESULTS, SECOND, wanted
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


class SecondOrder(NamedTuple):
    """Sensitivities of the Greeks. Time passes: charm, veta and color have the sign of theta."""

    vanna: Any
    """Of delta by volatility, or of vega by the underlying."""
    volga: Any
    """Of vega by volatility; also called vomma."""
    charm: Any
    """Of delta by passing time, for a year."""
    veta: Any
    """Of vega by passing time, for a year."""
    speed: Any
    """Of gamma by the underlying."""
    zomma: Any
    """Of gamma by volatility."""
    color: Any
    """Of gamma by passing time, for a year."""
    ultima: Any
    """Of volga by volatility."""


_BIT = {name: wanted((name,)) for name in RESULTS}
_FIRST, _SECOND = wanted(FIRST), wanted(SECOND)


def greeks(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Greeks:  # fmt: skip
    """Price and all Greeks in one pass."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return Greeks(*_evaluate(given, _FIRST, model, on_error))


def second_order(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> SecondOrder:  # fmt: skip
    """Sensitivities of the Greeks, all in one pass. The same for call and put, but for charm."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return SecondOrder(*_evaluate(given, _SECOND, model, on_error))


def evaluate(
    names: Iterable[str], flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> dict[str, Any]:  # fmt: skip
    """Any of the fields of `Greeks` and `SecondOrder` in one pass, by name."""
    asked = tuple(names)
    unknown = [name for name in asked if name not in _BIT]
    if unknown or not asked:
        raise UsageError(f"asked for {unknown or 'nothing'}; give one or more of {', '.join(RESULTS)}")
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    ordered = [name for name in RESULTS if name in asked]
    found = dict(zip(ordered, _evaluate(given, wanted(asked), model, on_error), strict=True))
    return {name: found[name] for name in asked}


def price(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """What an option is worth today."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, _BIT["price"], model, on_error)[0]


def delta(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by the underlying."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, _BIT["delta"], model, on_error)[0]


def gamma(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of delta by the underlying."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, _BIT["gamma"], model, on_error)[0]


def vega(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by volatility, for a change of 1.00."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, _BIT["vega"], model, on_error)[0]


def theta(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by passing time, for a year; negative where time costs."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, _BIT["theta"], model, on_error)[0]


def rho(
    flag: Any, underlying: Any, strike: Any, years: Any, rate: Any, volatility: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """Derivative of the price by the rate, for a change of 1.00."""
    given = (flag, underlying, strike, years, rate, volatility, dividend_yield)
    return _evaluate(given, _BIT["rho"], model, on_error)[0]


def implied_volatility(
    price: Any, flag: Any, underlying: Any, strike: Any, years: Any, rate: Any,
    dividend_yield: Any = 0.0, *, model: str = MERTON, on_error: OnError = "raise",
) -> Any:  # fmt: skip
    """The volatility at which an option is worth `price`, as precise as the price determines it.

    0 where the price is the intrinsic value to within rounding: its volatility is lost in it. Out of the
    money only a price of 0 is so. No answer below the intrinsic value, and above the bound (discounted
    forward of a call, discounted strike of a put) or within rounding of it.
    """
    return _implied((price, flag, underlying, strike, years, rate, dividend_yield), model, on_error)


def _implied(given: tuple[Any, ...], model: str, on_error: str) -> Any:
    price, flag, underlying, strike, years, rate, dividend_yield = given
    number = model_number(model, dividend_yield)
    values = (underlying, strike, years, rate, dividend_yield, price)
    return _answers(implied_frame(), flag, values, 1, (number,), on_error)[0]


def _evaluate(given: tuple[Any, ...], bits: int, model: str, on_error: str) -> list[Any]:
    """Rows for the bits of `kernels.results`."""
    flag, underlying, strike, years, rate, volatility, dividend_yield = given
    number = model_number(model, dividend_yield)
    values = (underlying, strike, years, rate, dividend_yield, volatility)
    return _answers(evaluate_frame(), flag, values, bits.bit_count(), (bits, number), on_error)


def _answers(
    frame: Frame, flag: Any, values: tuple[Any, ...], rows: int, numbers: tuple[int, ...], on_error: str
) -> list[Any]:
    if on_error not in POLICIES:
        raise unknown_policy(on_error)
    found = answers(frame, flag, values, rows, numbers, on_error != "ignore")
    if frame.faults[TOTAL]:
        if frame.faults[INVALID]:
            require_known(flag)
        settle(frame.faults, on_error)
    return found
