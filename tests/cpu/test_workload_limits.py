"""Options at the edges of numbers: the faintest prices, and no time or no volatility at the money."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.kernels.results import RESULTS
from kernelwright.workloads.option_pricing.reference import Contract

EPS = 2.0**-52
PLAIN = settings(max_examples=40, deadline=None, derandomize=True)


@PLAIN
@given(st.floats(-323, -250), st.floats(1e-6, 300), st.floats(-150, 150), st.floats(-6, 1))
def test_faint_prices_have_their_volatility(
    decade: float, distance: float, size: float, years: float
) -> None:
    """Out of the money the intrinsic value is exactly 0: every positive price determines a volatility."""
    strike = 10.0**size
    contract = Contract(1.0, strike * math.exp(-distance), strike, 10.0**years, 0.0)
    price = 10.0**decade
    if price > contract.underlying * 0.1 or contract.underlying < 1e-200:
        return
    found = op.implied_volatility(price, "c", *contract[1:5])
    true = reference.greeks(contract, found)
    assert abs(true["price"] - price) <= 4 * EPS * found * true["vega"] + 5e-324


@pytest.mark.parametrize("price", [1e-290, 1e-299, 1e-300, 1e-305, 1e-308, 1e-315, 5e-324])
@pytest.mark.parametrize("flag", ["c", "p"])
def test_faint_prices_far_from_the_money_and_at_it(price: float, flag: str) -> None:
    sign, strike = (1.0, 200.0) if flag == "c" else (-1.0, 50.0)
    true = float(reference.implied_volatility(price, Contract(sign, 100.0, strike, 1.0, 0.0), digits=30))
    assert op.implied_volatility(price, flag, 100.0, strike, 1.0, 0.0) == pytest.approx(true, rel=4 * EPS)
    # At the money the price is n(0) s times the underlying, but for s^2 / 24 of it.
    for years, spot in ((1.0, 1.0), (1e-8, 1.0), (1e-8, 1e40)):
        found = op.implied_volatility(price, flag, spot, spot, years, 0.0)
        true = float(mpf(price) / spot * mp.sqrt(2 * mp.pi) / mp.sqrt(mpf(years)))
        assert abs(found - true) <= max(4 * EPS * true, 5e-324)


def test_no_price_is_no_volatility_and_less_is_a_fault() -> None:
    assert op.implied_volatility(0.0, "c", 100.0, 200.0, 1.0, 0.0) == 0.0
    found = op.implied_volatility([-5e-324, -1e-300], "c", 100.0, 200.0, 1.0, 0.0, on_error="ignore")
    assert np.isnan(found).all()


@pytest.mark.parametrize("s", [1e-12, 1.1e-16, 0.9e-16, 1e-30, 1e-150, 1e-200, 1e-299])
def test_the_least_volatilities_have_their_price(s: float) -> None:
    for deviations in (0.0, 0.5, 3.0):
        contract = Contract(1.0, 1.0, 1.0, 1.0, -deviations * s, 0.0)
        true = float(reference.price(contract, s))
        assert op.price("c", *contract[1:5], s) == pytest.approx(true, rel=64 * EPS)


def limits_of(option: tuple[Any, ...], model: str, falls: str) -> dict[str, float]:
    """What each Greek goes to as years or volatility fall to 0, from three points in 200 digits."""
    flag, spot, strike, years, rate, sigma, dividend = option
    steps = ("1e-30", "1e-34", "1e-38") if falls == "years" else ("1e-12", "1e-14", "1e-16")
    rows: list[dict[str, Any]] = []
    for step in steps:
        with mp.workdps(200):
            small: Any = mpf(step)
        sign, span = 1.0 if flag == "c" else -1.0, small if falls == "years" else years
        contract = Contract(sign, spot, strike, span, rate, dividend, model)
        volatility = small if falls == "volatility" else sigma
        tables = (reference.greeks, reference.second_order)
        rows.append(
            {name: value for table in tables for name, value in table(contract, volatility, 200).items()}
        )
    return {name: _limit([row[name] for row in rows]) for name in RESULTS}


def _limit(found: list[Any]) -> float:
    first, second, third = (abs(value) for value in found)
    if third > 50 * second > 2000 * first:
        return math.copysign(math.inf, found[-1])
    return float(found[-1]) if third > 1e-12 else 0.0


BOOK = [
    ("years", ("c", 100.0, 100.0, 0.0, 0.05, 0.2, 0.0)),
    ("years", ("p", 100.0, 100.0, 0.0, 0.02, 0.3, 0.09)),
    ("years", ("c", 100.0, 90.0, 0.0, 0.05, 0.2, 0.01)),
    ("years", ("p", 100.0, 90.0, 0.0, 0.05, 0.2, 0.01)),
    ("volatility", ("c", 100.0, 100.0, 2.0, 0.03, 0.0, 0.03)),
    ("volatility", ("p", 100.0, 100.0, 0.25, 0.0, 0.0, 0.0)),
    ("volatility", ("c", 100.0, 120.0, 2.0, 0.05, 0.0, 0.01)),
    ("volatility", ("c", 100.0, 90.0, 2.0, 0.05, 0.0, 0.01)),
]


@pytest.mark.parametrize(("falls", "option"), BOOK)
@pytest.mark.parametrize("model", ["black", "black_scholes_merton"])
def test_without_time_or_volatility_greeks_are_limits(
    falls: str, option: tuple[Any, ...], model: str
) -> None:
    given_ = (*option[:6], 0.0) if model == "black" else option
    found = op.evaluate(RESULTS, *given_, model=model)
    for name, true in limits_of(given_, model, falls).items():
        assert found[name] == pytest.approx(true, rel=1e-12, abs=1e-12), name


def test_where_the_order_of_limits_decides_there_is_none() -> None:
    moving = op.evaluate(RESULTS, "c", 100.0, 100.0, 0.0, 0.05, 0.0)
    assert (moving["price"], moving["vega"], moving["rho"]) == (0.0, 0.0, 0.0)
    assert all(math.isnan(moving[name]) for name in RESULTS if name not in ("price", "vega", "rho"))
    still = op.evaluate(RESULTS, "c", 100.0, 100.0, 0.0, 0.05, 0.0, 0.05)
    assert still["delta"] == 0.5 and still["gamma"] == math.inf and still["veta"] == -math.inf
    assert {name for name in RESULTS if math.isnan(still[name])} == {"theta", "charm"}


@PLAIN
@given(st.floats(-310, -1), st.floats(-280, 0), st.sampled_from("cp"))
def test_no_clamp_shows_at_the_money(years: float, sigma: float, flag: str) -> None:
    """n(0) = gamma S s = vega / (S sqrt(t)), down to where s is no number."""
    span, volatility = 10.0**years, 10.0**sigma
    s = volatility * math.sqrt(span)
    found = op.greeks(flag, 1e4, 1e4, span, 0.0, volatility)
    peak = math.exp(-s * s / 8) / math.sqrt(2 * math.pi)
    gamma = float(mpf(peak) / 10**4 / (mpf(volatility) * mp.sqrt(mpf(span)))) if s > 1e-307 else math.inf
    if gamma < 1e306 or gamma == math.inf:
        assert found.gamma == pytest.approx(gamma, rel=1e-14) or s < 1e-307
    assert found.vega == pytest.approx(1e4 * math.sqrt(span) * peak, rel=1e-14)
    assert found.theta == pytest.approx(
        -1e4 * peak * volatility / (2 * math.sqrt(span)), rel=1e-14, abs=1e-300
    )


@PLAIN
@given(
    st.sampled_from((5e-324, 1e-310, 3e-308, 1e-200, 1.0, 1e200, 1e308)),
    st.sampled_from((0.5, 1.0, 3.0)),
    st.sampled_from((0.0, 5e-324, 1e-200, 1.0, 1e3)),
    st.sampled_from((0.0, 5e-324, 1e-160, 0.2, 1e90, 1e200)),
)
def test_what_has_a_price_has_greeks(spot: float, ratio: float, years: float, sigma: float) -> None:
    option = ("p", spot, min(spot * ratio, 1.7e308), years, 0.0, sigma)
    if option[2] == 0.0 or math.isnan(op.price(*option, on_error="ignore")):
        return
    found = op.evaluate(RESULTS, *option)
    undecided = years * sigma == 0.0  # theta and charm at the money, if both are 0 or nearly so
    names = [name for name in RESULTS if not (undecided and name in ("theta", "charm"))]
    assert not [name for name in names if math.isnan(found[name])]
