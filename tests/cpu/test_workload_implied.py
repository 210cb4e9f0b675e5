"""Implied volatility: what comes back from a price, options that nobody trades, and prices that have none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.benchmark import accuracy, against_oracle, hostile, traded
from kernelwright.workloads.option_pricing.reference import Contract

EPS = 2.0**-52
PLAIN = settings(max_examples=200, deadline=None, derandomize=True)


@PLAIN
@given(
    st.floats(-4, 4),
    st.floats(1e-5, 20),
    st.floats(0.005, 3),
    st.sampled_from((1.0, -1.0)),
    st.floats(-0.05, 0.2),
)
def test_round_trip_within_what_the_price_knows(
    deviations: float, years: float, sigma: float, sign: float, rate: float
) -> None:
    strike = 100.0 * math.exp(deviations * sigma * math.sqrt(years))
    assume(1e-6 < strike < 1e9)
    price, vega = (getattr(op, name)(sign, 100.0, strike, years, rate, sigma) for name in ("price", "vega"))
    first, second = 100.0, strike * math.exp(-rate * years)
    assume(
        max(sign * (first - second), 0.0) * (1 + 64 * EPS)
        < price
        < (first if sign > 0 else second) * (1 - 64 * EPS)
    )
    found = op.implied_volatility(price, sign, 100.0, strike, years, rate)
    # Arguments are rounded too: the forward moves log-moneyness, which moves volatility as the price does.
    moved = EPS * (1 + abs(rate) * years) * (first + second)
    assert abs(found - sigma) <= 8 * (EPS * sigma + (EPS * price + moved) / vega)


def test_two_hundred_volatilities_against_fifty_digits() -> None:
    rng = np.random.default_rng(11)
    for draw in (traded, hostile):
        book = draw(rng, 100)
        sign = np.where(book.calls, 1.0, -1.0)
        intrinsic = np.maximum(sign * (book.spot - book.strike * np.exp(-book.rate * book.years)), 0)
        for i in np.flatnonzero((book.price > intrinsic * (1 + 1e-12)) & (book.price > 1e-280)):
            contract = Contract(*(float(v[i]) for v in (sign, book.spot, book.strike, book.years)), book.rate)
            price = float(book.price[i])
            if price >= float(reference.bounds(contract)[1]) * (1 - 1e-12):
                continue
            true = reference.implied_volatility(price, contract, digits=30)
            vega = float(reference.greeks(contract, float(true))["vega"])
            found = op.implied_volatility(price, contract.sign, *contract[1:5])
            scale = price + 2 * contract.strike * float(intrinsic[i] > 0)
            assert abs(found - float(true)) <= 4 * EPS * (found + scale / vega), contract


@pytest.mark.parametrize("draw", [traded, hostile])
def test_many_options_price_again_to_what_was_paid(draw: object) -> None:
    book = draw(np.random.default_rng(4), 50_000)  # type: ignore[operator]
    sign = np.where(book.calls, 1.0, -1.0)
    contract = (sign, book.spot, book.strike, book.years, book.rate)
    found = op.implied_volatility(book.price, *contract, on_error="ignore")
    # Time value below 1e-300 counts as none.
    answered = np.isfinite(found) & (book.price > 1e-290)
    again, vega = op.price(*contract, np.where(answered, found, 0.2)), op.vega(*contract, book.volatility)
    unit = np.spacing(book.price) + vega * np.spacing(found)
    assert np.mean(answered) > 0.85
    assert np.all(np.abs(again - book.price)[answered] <= 6 * unit[answered])


@pytest.mark.parametrize("draw", [traded, hostile])
def test_round_trips_stay_within_two_units(draw: Any) -> None:
    """Of ulp(price) + vega ulp(volatility) / 2, by the pack's own price; and by 50 digits within one."""
    found = accuracy(draw, 200_000)
    assert found["round_trip"]["worst"] <= 2 and found["volatility"]["worst"] <= 1
    beside = against_oracle(draw, 40)
    assert beside["round_trip"]["worst"] <= 1 and beside["volatility"]["worst"] <= 1
    assert beside["price"]["worst"] <= 2


def test_total_volatilities_of_thirteen_orders_and_thirty_six_deviations() -> None:
    rng, count = np.random.default_rng(0), 100_000
    s = 10 ** rng.uniform(-12, 1.6, count)
    deviations = rng.uniform(-36, 36, count) * rng.choice([0, 1e-6, 1e-2, 0.3, 1], count)
    x, years = np.clip(s * deviations, -300, 300), 10 ** rng.uniform(-4, 1.5, count)
    contract = (np.where(x < 0, 1.0, -1.0), 1.0, np.exp(-x), years, 0.0)  # out of the money
    sigma = s / np.sqrt(years)
    price, vega = (getattr(op, name)(*contract, sigma, model="black") for name in ("price", "vega"))
    bound = np.where(x < 0, 1.0, contract[2])
    kept = (price > 1e-285) & (price > 1e-298 * np.minimum(1, contract[2])) & (bound - price > 1e-14 * bound)
    found = op.implied_volatility(np.where(kept, price, bound / 2), *contract, model="black")
    unit = EPS * (sigma + price / np.where(kept, vega, 1.0))
    assert np.mean(kept) > 0.9
    assert np.max((np.abs(found - sigma) / unit)[kept]) <= 4


def test_a_volatility_is_the_same_wherever_the_option_stands() -> None:
    book = hostile(np.random.default_rng(6), 20_000)
    contract = (np.where(book.calls, 1.0, -1.0), book.spot, book.strike, book.years)
    together = op.implied_volatility(book.price, *contract, 0.03, on_error="ignore")
    order = np.random.default_rng(7).permutation(20_000)
    mixed = op.implied_volatility(
        book.price[order], *(part[order] for part in contract), 0.03, on_error="ignore"
    )
    np.testing.assert_array_equal(mixed, together[order])
    for i in range(0, 20_000, 400):
        alone = op.implied_volatility(book.price[i], *(part[i] for part in contract), 0.03, on_error="ignore")
        np.testing.assert_array_equal(alone, together[i])


@pytest.mark.parametrize("model", ["black", "black_scholes", "black_scholes_merton"])
@pytest.mark.parametrize("flag", ["c", "p"])
def test_models_come_back(model: str, flag: str) -> None:
    price = op.price(flag, 100.0, 95.0, 0.4, 0.05, 0.33, model=model)
    assert op.implied_volatility(price, flag, 100.0, 95.0, 0.4, 0.05, model=model) == pytest.approx(
        0.33, rel=8 * EPS
    )


def test_minutes_to_expiry_and_far_from_the_money() -> None:
    years = 5 / (365 * 24 * 60)
    for strike in (99.0, 99.9, 100.0, 100.1, 101.0):
        flag = "c" if strike >= 100 else "p"
        price = op.price(flag, 100.0, strike, years, 0.0, 0.6)
        assert op.implied_volatility(price, flag, 100.0, strike, years, 0.0) == pytest.approx(
            0.6, rel=64 * EPS
        )
    price = op.price("c", 100.0, 1e6, 1.0, 0.0, 0.25)
    assert 0 < price < 1e-290
    assert op.implied_volatility(price, "c", 100.0, 1e6, 1.0, 0.0) == pytest.approx(0.25, rel=8 * EPS)


def test_near_the_bounds() -> None:
    just_below = np.nextafter(100.0, 0.0)
    assert 5 < op.implied_volatility(just_below, "c", 100.0, 100.0, 1.0, 0.0) < 20
    assert op.implied_volatility(5e-290, "c", 100.0, 100.0, 1.0, 0.0) > 0
    assert op.implied_volatility(0.0, "c", 100.0, 120.0, 1.0, 0.0) == 0.0
    assert op.implied_volatility(10.0, "c", 110.0, 100.0, 1.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("price", "flag", "spot", "strike", "years", "words"),
    [
        (9.0, "c", 110.0, 100.0, 1.0, "below its intrinsic"),
        (-1.0, "c", 100.0, 100.0, 1.0, "below its intrinsic"),
        (100.0, "c", 100.0, 100.0, 1.0, "at or above its bound"),
        (math.inf, "p", 100.0, 100.0, 1.0, "at or above its bound"),
        (math.nan, "c", 100.0, 100.0, 1.0, "is not an option"),
        (5.0, "c", -100.0, 100.0, 1.0, "is not an option"),
        (5.0, "c", 100.0, 0.0, 1.0, "is not an option"),
        (5.0, "c", 100.0, 100.0, 0.0, "is not an option"),
        (5.0, "c", 100.0, 100.0, -1.0, "is not an option"),
        (5.0, 2.0, 100.0, 100.0, 1.0, "is not an option"),
    ],
)
def test_no_volatility(
    price: float, flag: object, spot: float, strike: float, years: float, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        op.implied_volatility(price, flag, spot, strike, years, 0.0)
    with pytest.warns(op.OptionWarning, match=words):
        assert math.isnan(op.implied_volatility(price, flag, spot, strike, years, 0.0, on_error="warn"))
    assert math.isnan(op.implied_volatility(price, flag, spot, strike, years, 0.0, on_error="ignore"))


def test_faulty_options_leave_the_others_alone() -> None:
    prices = np.full(30_000, 10.0)
    prices[[5, 20_000]] = -1.0
    prices[29_999] = 1000.0
    with pytest.raises(UsageError, match=r"option 5 has a price below.*2 below intrinsic, 1 at or above"):
        op.implied_volatility(prices, "c", 100.0, 100.0, 1.0, 0.0)
    found = op.implied_volatility(prices, "c", 100.0, 100.0, 1.0, 0.0, on_error="ignore")
    assert list(np.flatnonzero(np.isnan(found))) == [5, 20_000, 29_999]
    assert len(set(found[~np.isnan(found)])) == 1


@pytest.mark.parametrize("model", ["black", "black_scholes_merton"])
def test_scales_and_times_that_nobody_trades(model: str) -> None:
    """Money of sixty orders, times from a second to a century, rates of either sign."""
    rng, count = np.random.default_rng(13), 60_000
    spot, years = 10 ** rng.uniform(-30, 30, count), 10 ** rng.uniform(-7.5, 2, count)
    rate = rng.normal(size=count) * 0.05
    dividend = rng.normal(size=count) * 0.03 if model != "black" else 0.0
    s = 10 ** rng.uniform(-7, 0.7, count)
    forward = spot * np.exp((rate - dividend) * years if model != "black" else 0.0)
    strike = forward * np.exp(rng.uniform(-30, 30, count) * s)
    contract = (np.where(strike > forward, 1.0, -1.0), spot, strike, years, rate)  # out of the money
    value = op.price(*contract, s / np.sqrt(years), dividend, model=model)
    kept = value > 1e-250
    found = op.implied_volatility(
        np.where(kept, value, np.minimum(spot, strike) * np.exp(-np.abs(rate) * years) / 4), *contract,
        dividend, model=model, on_error="ignore",
    )  # fmt: skip
    again = op.price(*contract, np.where(np.isnan(found), 0.2, found), dividend, model=model)
    answered = kept & ~np.isnan(found)
    vega = op.vega(*contract, s / np.sqrt(years), dividend, model=model)
    unit = np.spacing(value) + vega * np.spacing(np.where(answered, found, 1.0)) / 2
    assert np.mean(answered) > 0.7
    assert np.max((np.abs(again - value) / unit)[answered]) <= 2
