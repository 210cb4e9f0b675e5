"""The truth: prices, Greeks and implied volatilities in mpmath, one option at a time. Plain and slow.

Written from the definitions, with nothing of what the kernels do: the normal distribution from erfc, the
Greeks as derivatives of the textbook formula, the volatility by bisection. Arguments are taken as they are,
bit for bit, so that a result is that of exactly these doubles.

Formulas: Black (1976); Merton (1973). Precision is `digits`, 50 unless told, with the arithmetic of mpmath.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mpmath import mp, mpf

DIGITS = 50


class Contract(NamedTuple):
    """One option and its market, without volatility. `model` is "black" or anything else for spot models."""

    sign: float
    underlying: float
    strike: float
    years: float
    rate: float
    dividend_yield: float = 0.0
    model: str = "black_scholes_merton"


class Market(NamedTuple):
    """Numbers that every formula needs."""

    forward: mpf
    discount: mpf
    x: mpf
    """ln(forward / strike)."""
    carry: mpf


def market(contract: Contract) -> Market:
    """Forward, discount factor and log-moneyness, at the precision in force."""
    carry = mpf(0) if contract.model == "black" else mpf(contract.rate) - mpf(contract.dividend_yield)
    years = mpf(contract.years)
    x = mp.log(mpf(contract.underlying) / mpf(contract.strike)) + carry * years
    return Market(mpf(contract.strike) * mp.exp(x), mp.exp(-mpf(contract.rate) * years), x, carry)


def cumulative(z: mpf) -> mpf:
    """The normal distribution function."""
    return mp.erfc(-z / mp.sqrt(2)) / 2


def density(z: mpf) -> mpf:
    """The normal density."""
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def price(contract: Contract, volatility: float | mpf, digits: int = DIGITS) -> mpf:
    """What the option is worth today."""
    with mp.workdps(digits):
        return _price(contract, mpf(volatility))


def _price(contract: Contract, volatility: mpf) -> mpf:
    # The two terms nearly agree where little time value is left: what they lose is added beforehand.
    with mp.extradps(30):
        made, sign, strike = market(contract), int(contract.sign), mpf(contract.strike)
        s = volatility * mp.sqrt(mpf(contract.years))
        if s == 0:
            return made.discount * max(sign * (made.forward - strike), mpf(0))
        d1, d2 = made.x / s + s / 2, made.x / s - s / 2
        difference = made.forward * cumulative(sign * d1) - strike * cumulative(sign * d2)
        return made.discount * sign * difference


def greeks(contract: Contract, volatility: float, digits: int = DIGITS) -> dict[str, Any]:
    """Price, delta, gamma, vega, theta (a year) and rho, by name."""
    with mp.workdps(digits):
        made, sign, sigma = market(contract), int(contract.sign), mpf(volatility)
        years, strike, underlying = mpf(contract.years), mpf(contract.strike), mpf(contract.underlying)
        root = mp.sqrt(years)
        s = sigma * root
        d1, d2 = made.x / s + s / 2, made.x / s - s / 2
        value = _price(contract, sigma)
        discounted = made.discount * made.forward
        weight = discounted * density(d1)
        cash = made.discount * strike * cumulative(sign * d2)
        decay = weight * sigma / (2 * root)
        growth = mpf(contract.rate) * value - sign * made.carry * discounted * cumulative(sign * d1)
        return {
            "price": value,
            "delta": sign * discounted / underlying * cumulative(sign * d1),
            "gamma": weight / (underlying**2 * s),
            "vega": weight * root,
            "theta": growth - decay,
            "rho": -years * value if contract.model == "black" else sign * years * cash,
        }


def second_order(contract: Contract, volatility: float, digits: int = DIGITS) -> dict[str, Any]:
    """Vanna, volga, charm, veta, speed, zomma, color and ultima: differences of `greeks` over tiny steps.

    Steps are 1e-20 of their argument, in twice the digits and more: exact to 1e-30 or so.
    """
    step = mpf("1e-20")

    def slope(name: str, field: str) -> mpf:
        up, down = (_stepped(contract, volatility, field, side * step, digits)[name] for side in (1, -1))
        return (up - down) / (2 * step * _argument(contract, volatility, field))

    with mp.workdps(2 * digits + 20):
        sigma = mpf(volatility)
        vegas = [_stepped(contract, volatility, "volatility", k * step, digits)["vega"] for k in (-1, 0, 1)]
        return {
            "vanna": slope("delta", "volatility"),
            "volga": slope("vega", "volatility"),
            "charm": -slope("delta", "years"),
            "veta": -slope("vega", "years"),
            "speed": slope("gamma", "underlying"),
            "zomma": slope("gamma", "volatility"),
            "color": -slope("gamma", "years"),
            "ultima": (vegas[0] - 2 * vegas[1] + vegas[2]) / (sigma * step) ** 2,
        }


def _argument(contract: Contract, volatility: float, field: str) -> mpf:
    return mpf(volatility if field == "volatility" else getattr(contract, field))


def _stepped(contract: Contract, volatility: float, field: str, by: mpf, digits: int) -> dict[str, Any]:
    """Greeks with one argument changed by a share of itself."""
    changed: Any = _argument(contract, volatility, field) * (1 + by)
    if field == "volatility":
        return greeks(contract, changed, 2 * digits + 20)
    return greeks(contract._replace(**{field: changed}), volatility, 2 * digits + 20)


def bounds(contract: Contract, digits: int = DIGITS) -> tuple[mpf, mpf]:
    """Intrinsic value, and what the price approaches as volatility grows."""
    with mp.workdps(digits):
        made = market(contract)
        strike, sign = mpf(contract.strike), int(contract.sign)
        most = made.forward if sign > 0 else strike
        return made.discount * max(sign * (made.forward - strike), mpf(0)), made.discount * most


def implied_volatility(value: float | mpf, contract: Contract, digits: int = DIGITS) -> mpf:
    """The volatility of this price. ValueError at or outside the bounds.

    Bisection of the logarithm of volatility narrows the root down, Newton's method on the price finishes.
    """
    with mp.workdps(digits):
        target = mpf(value)
        least, most = bounds(contract, digits)
        if not least < target < most:
            raise ValueError(f"price {value} is not between {mp.nstr(least, 17)} and {mp.nstr(most, 17)}")
        low, high = mpf("1e-12"), mpf(1000)
        for _ in range(60):
            middle = mp.sqrt(low * high)
            low, high = (middle, high) if _price(contract, middle) < target else (low, middle)
        sigma = mp.sqrt(low * high)
        for _ in range(3):
            sigma -= (_price(contract, sigma) - target) / _vega(contract, sigma)
        return sigma


def _vega(contract: Contract, volatility: mpf) -> mpf:
    made, root = market(contract), mp.sqrt(mpf(contract.years))
    s = volatility * root
    return made.discount * made.forward * density(made.x / s + s / 2) * root
