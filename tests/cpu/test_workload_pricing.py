"""Option prices and Greeks: against 50 digits, the field's laws, and alike wherever an option stands."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.kernels import coefficients
from kernelwright.workloads.option_pricing.native import SHORT
from kernelwright.workloads.option_pricing.validator import condition, samples, validate

EPS = 2.0**-52
PLAIN = settings(max_examples=60, deadline=None, derandomize=True)
positive = st.floats(1e-3, 1e5)


def test_every_law_holds() -> None:
    assert validate(op, samples(60, seed=3)) == []


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("price", lambda value: value * (1 + 1e-11)),
        ("greeks", lambda value: value._replace(theta=-value.theta)),
        ("greeks", lambda value: value._replace(gamma=value.gamma * (1 + 1e-9))),
        ("implied_volatility", lambda value: value * (1 + 1e-6)),
    ],
)
def test_the_validator_finds_a_library_that_is_wrong(name: str, broken: Any) -> None:
    public = {each: getattr(op, each) for each in op.__all__}
    library = SimpleNamespace(**public | {name: lambda *a, **k: broken(public[name](*a, **k))})
    assert validate(library, samples(4, seed=3))


def test_two_hundred_prices_and_greeks_against_fifty_digits() -> None:
    for sample in samples(200, seed=5):
        contract = sample.contract
        got = op.greeks(
            contract.sign, contract.underlying, contract.strike, contract.years, contract.rate,
            sample.volatility, contract.dividend_yield, model=contract.model,
        )  # fmt: skip
        true = reference.greeks(contract, sample.volatility)
        for name in ("price", "delta", "gamma", "vega"):
            error = abs(float((getattr(got, name) - true[name]) / true[name]))
            assert error <= 4 * EPS * condition(sample), (name, sample)


def test_a_textbook_example() -> None:
    # Hull, Options, Futures, and Other Derivatives: S 42, K 40, r 0.1, sigma 0.2, half a year: 4.76 and 0.81.
    assert op.price("c", 42.0, 40.0, 0.5, 0.1, 0.2) == pytest.approx(4.7594, abs=5e-5)
    assert op.price("p", 42.0, 40.0, 0.5, 0.1, 0.2) == pytest.approx(0.8086, abs=5e-5)


@PLAIN
@given(positive, positive, st.floats(1e-4, 10), st.floats(0.01, 3))
def test_put_and_call_are_symmetric_to_the_last_bit(
    forward: float, strike: float, years: float, sigma: float
) -> None:
    call = op.price("c", forward, strike, years, 0.0, sigma, model="black")
    put = op.price("p", strike, forward, years, 0.0, sigma, model="black")
    assert call == put


@PLAIN
@given(positive, positive, st.floats(0, 10), st.floats(-0.1, 0.3), st.floats(0, 3), st.floats(0, 0.2))
def test_parity(spot: float, strike: float, years: float, rate: float, sigma: float, dividend: float) -> None:
    call, put = (op.price(flag, spot, strike, years, rate, sigma, dividend) for flag in "cp")
    first, second = spot * math.exp(-dividend * years), strike * math.exp(-rate * years)
    assert call - put == pytest.approx(
        first - second, abs=16 * EPS * (first + second) * (1 + abs(rate) * years)
    )


@PLAIN
@given(positive, positive, st.floats(0.0, 2.0), st.sampled_from("cp"))
def test_more_volatility_is_never_worth_less(spot: float, strike: float, years: float, flag: str) -> None:
    prices = op.price(flag, spot, strike, years, 0.02, np.linspace(0, 4, 200))
    # Neighbours may differ by a rounding where the price no longer changes.
    assert np.all(np.diff(prices) >= -4 * EPS * prices[1:])


@pytest.mark.parametrize("count", [1, 7, 8, 9, SHORT, SHORT + 1, 1000, 20_000])
def test_an_option_is_worth_the_same_wherever_it_stands(count: int) -> None:
    rng = np.random.default_rng(count)
    strikes, sigmas = rng.uniform(50, 150, count), rng.uniform(0.05, 1, count)
    together = op.greeks("c", 100.0, strikes, 0.7, 0.03, sigmas, 0.01)
    for i in {0, count // 2, count - 1}:
        alone = op.greeks("c", 100.0, float(strikes[i]), 0.7, 0.03, float(sigmas[i]), 0.01)
        assert [row[i] for row in together] == list(alone)
    for name in ("price", "delta", "gamma", "vega", "theta", "rho"):
        one = getattr(op, name)("c", 100.0, strikes, 0.7, 0.03, sigmas, 0.01)
        np.testing.assert_array_equal(one, getattr(together, name))


def test_limits() -> None:
    assert op.price("c", 110.0, 100.0, 0.0, 0.05, 0.2) == 10.0
    assert op.price("p", 110.0, 100.0, 0.0, 0.05, 0.2) == 0.0
    assert op.price("c", 110.0, 100.0, 1.0, 0.0, 0.0) == 10.0
    assert op.price("c", 100.0, 100.0, 1.0, 0.0, 0.0) == 0.0
    assert op.price("c", 100.0, 100.0, 1.0, 0.0, 1e6) == pytest.approx(100.0, rel=EPS)
    expired = op.greeks("c", 110.0, 100.0, 0.0, 0.05, 0.2)
    assert (expired.delta, expired.gamma, expired.vega, expired.rho) == (1.0, 0.0, 0.0, 0.0)
    assert op.price("c", 100.0, 1e9, 0.01, 0.0, 0.1) == 0.0


def test_the_header_is_what_its_script_writes() -> None:
    from pathlib import Path

    kept = Path(coefficients.__file__).with_name("coefficients.h").read_text()
    assert kept == coefficients.header()
