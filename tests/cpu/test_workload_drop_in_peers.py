"""Drop-in surfaces beside the installed peers: signatures, random arguments, patches, and who is right."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.compat import quoted

for peer in ("py_vollib", "py_vollib_vectorized", "fast_vollib"):
    if find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed", allow_module_level=True)

BASE = "kernelwright.workloads.option_pricing.compat."
SCRIPT = Path(__file__).with_name("drop_in_peers.py")
COUNT = 60


@pytest.fixture(scope="module")
def book() -> dict[str, Any]:
    rng = np.random.default_rng(12)
    years, sigma = rng.uniform(0.1, 2, COUNT), rng.uniform(0.1, 0.6, COUNT)
    return {
        "flag": np.where(rng.random(COUNT) < 0.5, "c", "p"), "S": rng.uniform(80, 120, COUNT),
        "K": rng.uniform(80, 120, COUNT), "t": years, "r": rng.uniform(0.001, 0.1, COUNT), "sigma": sigma,
        "q": rng.uniform(0.001, 0.05, COUNT),
    }  # fmt: skip


@pytest.fixture(scope="module")
def theirs(book: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("peers")
    np.savez(folder / "book.npz", **book)
    command = [sys.executable, str(SCRIPT), str(folder / "book.npz"), str(folder / "answers.npz")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(np.load(folder / "answers.npz"))


def given(book: dict[str, Any], model: str) -> tuple[Any, ...]:
    dividend = book["q"] if model == "black_scholes_merton" else 0.0
    return (*(book[name] for name in ("flag", "S", "K", "t", "r", "sigma")), dividend)


def contract(book: dict[str, Any], model: str, i: int) -> reference.Contract:
    flag, spot, strike, years, rate, _, dividend = given(book, model)
    q = float(np.broadcast_to(dividend, COUNT)[i])
    numbers = (float(part[i]) for part in (spot, strike, years, rate))
    return reference.Contract(1.0 if flag[i] == "c" else -1.0, *numbers, q, model)


def test_signatures_are_theirs(theirs: dict[str, Any]) -> None:
    for place, wanted in json.loads(str(theirs["signatures"])).items():
        module, name = place.split()
        ours = inspect.signature(getattr(import_module(BASE + module), name)).parameters
        assert [[each, kind.kind.name] for each, kind in ours.items()] == wanted, place


# Relative to the largest of the kind: what rounding leaves in 64-bit textbook formulas.
@pytest.mark.parametrize("model", quoted.MODELS)
@pytest.mark.parametrize("library", ["py_vollib", "fast_vollib"])
def test_prices_and_greeks_agree_to_twelve_digits(
    book: dict[str, Any], theirs: dict[str, Any], library: str, model: str
) -> None:
    ours = {
        "price": quoted.one("price", model, given(book, model)),
        **quoted.greeks(model, given(book, model)),
    }
    for name, values in ours.items():
        if (library, model, name) == ("fast_vollib", "black", "rho"):
            continue  # theirs is wrong: see below
        wanted = theirs[f"{library} {model} {name}"]
        assert np.max(np.abs(values - wanted)) <= 1e-12 * np.max(np.abs(wanted)), name


@pytest.mark.parametrize("model", quoted.MODELS)
def test_volatilities_agree_with_py_vollib_to_eleven_digits(
    book: dict[str, Any], theirs: dict[str, Any], model: str
) -> None:
    flag, spot, strike, years, rate, _, dividend = given(book, model)
    paid = theirs[f"py_vollib {model} price"]
    ours = quoted.implied(model, (paid, flag, spot, strike, years, rate, dividend))
    np.testing.assert_allclose(ours, theirs[f"py_vollib {model} implied"], rtol=1e-11)


@pytest.mark.parametrize("model", quoted.MODELS)
def test_volatilities_agree_with_fast_vollib_as_far_as_it_goes(
    book: dict[str, Any], theirs: dict[str, Any], model: str
) -> None:
    """Its Halley steps end where the price is right to 1e-6."""
    vega = op.vega(*given(book, model), model=model)
    error = theirs[f"fast_vollib {model} implied"] - book["sigma"]
    assert np.max(np.abs(error) * vega) <= 2e-6


@pytest.mark.parametrize("model", ["black_scholes", "black_scholes_merton"])
def test_greeks_of_py_vollib_vectorized_are_differences(
    book: dict[str, Any], theirs: dict[str, Any], model: str
) -> None:
    """50 digits: its numbers are those of its steps, and ours those of the limit."""
    ours = quoted.greeks(model, given(book, model))
    for i in range(0, COUNT, 6):
        option, sigma = contract(book, model, i), float(book["sigma"][i])
        exact = reference.greeks(option, sigma)
        for name, stepped in differences(option, sigma).items():
            their = float(theirs[f"py_vollib_vectorized {model} {name}"][i])
            assert abs(their - stepped) <= 2e-8 * (1 + abs(stepped)), (name, i)
            unit = {"theta": 365, "vega": 100, "rho": 100}.get(name, 1)
            assert float(ours[name][i]) == pytest.approx(float(exact[name] / unit), rel=1e-12, abs=1e-16)


def differences(option: reference.Contract, sigma: float) -> dict[str, float]:
    """Steps of 0.01 in the underlying, a day, and 1 % in volatility and in the rate.

    With a yield, its rho moves the yield as well as the rate, which is no rho: py_vollib's does not.
    """

    def at(volatility: float = sigma, **changed: Any) -> mpf:
        return reference.price(option._replace(**changed), volatility)

    def moved(by: mpf) -> mpf:
        yields = option.dividend_yield + by if option.model == "black_scholes_merton" else 0.0
        return at(rate=option.rate + by, dividend_yield=yields)

    with mp.workdps(50):
        spot, day = mpf(option.underlying), mpf(1) / 365
        step = mpf("0.01")
        up, down = at(underlying=spot + step), at(underlying=spot - step)
        made = {
            "delta": (up - down) / (2 * step), "gamma": (up - 2 * at() + down) / step**2,
            "theta": at(years=option.years - day) - at(),
            "vega": (at(sigma + step) - at(sigma - step)) / 2,
            "rho": (moved(step) - moved(-step)) / 2,
        }  # fmt: skip
    return {name: float(value) for name, value in made.items()}


def test_black_of_py_vollib_vectorized_is_not_discounted(
    book: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """50 digits: its `vectorized_black` is the price at expiry; py_vollib's `black`, and ours, is today's."""
    for i in range(0, COUNT, 6):
        option = contract(book, "black", i)
        true = reference.price(option, float(book["sigma"][i]))
        undiscounted = true / reference.market(option).discount
        assert float(theirs["py_vollib_vectorized black price"][i]) == pytest.approx(
            float(undiscounted), rel=1e-12
        )
        assert float(theirs["py_vollib black price"][i]) == pytest.approx(float(true), rel=1e-12)


def test_rho_of_black_in_fast_vollib_is_that_of_a_spot(book: dict[str, Any], theirs: dict[str, Any]) -> None:
    """50 digits: with the forward held, the price is discounted more; ours and py_vollib's are."""
    for i in range(0, COUNT, 6):
        option, sigma = contract(book, "black", i), float(book["sigma"][i])
        with mp.workdps(50):
            step = mpf("1e-20")
            up, down = (reference.price(option._replace(rate=option.rate + s), sigma) for s in (step, -step))
            true = float((up - down) / (2 * step) / 100)
            made, s = reference.market(option), mpf(sigma) * mp.sqrt(mpf(option.years))
            tail = reference.cumulative(mpf(option.sign) * (made.x / s - s / 2))
            spot = float(option.sign * mpf(option.years) * mpf(option.strike) * made.discount * tail / 100)
        assert float(theirs["fast_vollib black rho"][i]) == pytest.approx(spot, rel=1e-12)
        assert quoted.one("rho", "black", given(book, "black"))[i] == pytest.approx(true, rel=1e-12)
        assert float(theirs["py_vollib black rho"][i]) == pytest.approx(true, rel=1e-12)


PATCHES = """
import warnings; warnings.simplefilter("ignore")
import py_vollib.black, py_vollib.black_scholes.implied_volatility as implied
from kernelwright.workloads.option_pricing.compat import {surface} as ours
{before}
ours.{patch}()
import numpy as np
import py_vollib.black_scholes_merton.implied_volatility as merton
import py_vollib.black_scholes_merton.greeks.numerical as numerical
import py_vollib.black.greeks.numerical as black
one = {{"return_as": "numpy"}}
paid = py_vollib.black_scholes_merton.black_scholes_merton(["c"], 100, 90, 1, 0.02, 0.3, 0.01, **one)
found = merton.implied_volatility(paid, 100, 90, 1, 0.02, ["c"], q=0.01, **one)
assert abs(found[0] - 0.3) < 1e-13, found
from kernelwright.workloads import option_pricing as op
market = (100, 90, 1, 0.02, 0.3)
assert numerical.delta(["c"], *market, 0.01, **one) == op.delta("c", *market, 0.01)
assert black.rho(["c"], *market, **one) == op.rho("c", *market, model="black") * 0.01
{after}
print("patched")
"""


@pytest.mark.parametrize(
    ("surface", "patch", "before", "after"),
    [
        ("py_vollib_vectorized", "patch_py_vollib", "", ""),
        ("fast_vollib", "patch_py_vollib", "", ""),
        (
            "fast_vollib", "patch_py_vollib_vectorized", "ours.patch_py_vollib()",
            "import py_vollib_vectorized as v, py_vollib_vectorized.greeks as g; "
            "assert v.vectorized_black is v.models.vectorized_black is ours.fast_black; "
            "assert v.get_all_greeks is v.api.get_all_greeks is ours.get_all_greeks; "
            "assert g.rho is v.vectorized_rho is ours.vectorized_rho",
        ),
    ],
)  # fmt: skip
def test_patches(surface: str, patch: str, before: str, after: str) -> None:
    code = PATCHES.format(surface=surface, patch=patch, before=before, after=after)
    if patch.endswith("vectorized"):  # importing that library patches py_vollib itself: ours goes on top
        code = code.replace(f"ours.{patch}()", f"ours.{patch}(); ours.patch_py_vollib()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "patched\n", done.stderr


def test_what_is_raised_is_theirs_as_well() -> None:
    code = """
from py_vollib.helpers.exceptions import PriceIsBelowIntrinsic
from py_lets_be_rational.exceptions import AboveMaximumException
from kernelwright.workloads.option_pricing.compat.py_vollib.black_scholes.implied_volatility import (
    implied_volatility,
)
try: implied_volatility(9.0, 110, 100, 1, 0, "c")
except PriceIsBelowIntrinsic as error: print(type(error).__name__, error)
try: implied_volatility(110.0, 110, 100, 1, 0, "c")
except AboveMaximumException as error: print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("PriceIsBelowIntrinsic option 0 has a price below"), done.stderr
    assert second.startswith("PriceIsAboveMaximum option 0 has a price at or above"), done.stderr
