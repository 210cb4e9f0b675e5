"""Drop-in surfaces: the peers' published examples, their conventions, and what they raise."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from kernelwright.core.errors import UsageError
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing.compat import fast_vollib, py_vollib_vectorized
from kernelwright.workloads.option_pricing.compat.py_vollib.helpers.exceptions import (
    PriceIsAboveMaximum,
    PriceIsBelowIntrinsic,
)

BASE = "kernelwright.workloads.option_pricing.compat.py_vollib"
MODELS = ("black", "black_scholes", "black_scholes_merton")
ONE = {"black": ("c", 49, 50, 0.3846, 0.05, 0.2), "black_scholes": ("c", 49, 50, 0.3846, 0.05, 0.2)}
SURFACES = [(py_vollib_vectorized, "vectorized_"), (fast_vollib, "fast_")]
both = pytest.mark.parametrize(("surface", "prefix"), SURFACES, ids=["py_vollib_vectorized", "fast_vollib"])


def scalar(model: str, place: str, name: str) -> Any:
    return getattr(import_module(f"{BASE}.{model}{place}"), name)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.array])
def test_numbers_of_numpy_are_answered_in_float64(model: str, kind: Any) -> None:
    market = (100.0, 150.0, 0.25, 0.0625)
    tail = (0.0,) if model == "black_scholes_merton" else ()
    for name, place in ((model, ""), *((name, ".greeks.analytical") for name in ("delta", "theta", "gamma"))):
        function = scalar(model, place, name)
        wanted = function("c", *market, 0.25, *tail)
        for number in range(4):
            given = [kind(value) if k == number else value for k, value in enumerate(market)]
            got = function("c", *given, 0.25, *tail)
            assert isinstance(got, float) and got == wanted
    paid = 10.5 if model != "black" else 9.5
    function = scalar(model, ".implied_volatility", "implied_volatility")
    got = function(kind(paid), 100.0, 100.0, 0.25, 0.25, *tail, "c")
    assert isinstance(got, float) and got == function(paid, 100.0, 100.0, 0.25, 0.25, *tail, "c")


@both
@pytest.mark.parametrize(
    "strike", [[[90.0], [90.0, 100.0]], [10**400], np.ma.array([90.0], mask=[1]), ["x"], [1j]]
)
def test_what_is_no_array_of_numbers_is_refused_in_one_line(surface: Any, prefix: str, strike: Any) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(surface, f"{prefix}black_scholes")("c", 100.0, strike, 1.0, 0.0, 0.2, return_as="numpy")
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


# Examples from the docstrings of py_vollib 1.0.1, with the digits and the tolerance that are given there.
PUBLISHED = [
    ("black", "", "black", ("c", 100, 100, 0.5, 0.02, 0.2), 5.5811067246048118, 1e-13),
    ("black", "", "undiscounted_black", (100, 100, 0.2, 0.5, "c"), 5.637197779701664, 1e-13),
    ("black_scholes", "", "black_scholes", ("c", 100, 90, 0.5, 0.01, 0.2), 12.111581435, 1e-6),
    ("black_scholes", "", "black_scholes", ("p", 100, 90, 0.5, 0.01, 0.2), 1.66270456231, 1e-6),
    ("black_scholes_merton", "", "black_scholes_merton", ("p", 100, 95, 0.5, 0.1, 0.2, 0.05), 2.4648, 1e-4),
    ("black", ".greeks.analytical", "delta", ONE["black"], 0.45107017482201828, 1e-6),
    ("black", ".greeks.analytical", "theta", ONE["black"], -0.00816236877462, 1e-6),
    ("black", ".greeks.analytical", "theta", ("p", *ONE["black"][1:]), -0.00802799155312, 1e-6),
    ("black", ".greeks.analytical", "gamma", ONE["black"], 0.0640646705882, 1e-6),
    ("black", ".greeks.analytical", "vega", ONE["black"], 0.118317785624, 1e-6),
    ("black", ".greeks.analytical", "rho", ONE["black"], -0.0074705380059582258, 1e-6),
    ("black", ".greeks.analytical", "rho", ("p", *ONE["black"][1:]), -0.011243286001308292, 1e-6),
    ("black_scholes", ".greeks.analytical", "delta", ONE["black_scholes"], 0.521601633972, 1e-10),
    ("black_scholes", ".greeks.analytical", "theta", ONE["black_scholes"], -4.30538996455 / 365, 1e-10),
    ("black_scholes", ".greeks.analytical", "gamma", ONE["black_scholes"], 0.0655453772525, 1e-10),
    ("black_scholes", ".greeks.analytical", "vega", ONE["black_scholes"], 0.121052427542, 1e-10),
    ("black_scholes", ".greeks.analytical", "rho", ONE["black_scholes"], 0.089065740988, 1e-10),
    ("black_scholes_merton", ".greeks.analytical", "delta", (*ONE["black"], 0), 0.521601633972, 1e-10),
]  # fmt: skip


@pytest.mark.parametrize(("model", "place", "name", "given", "published", "within"), PUBLISHED)
def test_published_examples_of_py_vollib(
    model: str, place: str, name: str, given: tuple[Any, ...], published: float, within: float
) -> None:
    assert scalar(model, place, name)(*given) == pytest.approx(published, abs=within)


def test_published_examples_of_py_vollib_vectorized() -> None:
    flag, spot, strike, years, rate, sigma = ["c", "p"], 95, [100, 90], 0.2, 0.2, 0.2
    given = (flag, spot, strike, years, rate, sigma)
    for surface, prefix in SURFACES:
        price = getattr(surface, f"{prefix}black_scholes")(*given, return_as="numpy")
        np.testing.assert_allclose(price, [2.89558836, 0.61109351], atol=5e-9)
        price = getattr(surface, f"{prefix}black_scholes_merton")(
            flag, [95, 99], strike, years, rate, sigma, 0, return_as="numpy"
        )
        np.testing.assert_allclose(price, [2.89558836, 0.23536284], atol=5e-9)
        implied = getattr(surface, f"{prefix}implied_volatility")(
            0.10, 95, strike, years, rate, flag, q=0, model="black_scholes_merton", return_as="numpy"
        )
        np.testing.assert_allclose(implied, [0.02621257, 0.12585767], atol=5e-9)
        greeks = surface.get_all_greeks(*given, return_as="dict")
        # Differences over 0.01, a day and 1 % were published; tolerances are what those steps leave.
        for name, published, within in (
            ("delta", [0.46750566, -0.1364465], 1e-6), ("gamma", [0.0467948, 0.0257394], 1e-6),
            ("theta", [-0.04589963, -0.00533543], 3e-4), ("rho", [0.0830349, -0.02715114], 5e-4),
            ("vega", [0.16892575, 0.0928379], 5e-4),
        ):  # fmt: skip
            np.testing.assert_allclose(greeks[name], published, atol=within, err_msg=name)


def test_the_readme_of_py_vollib_vectorized() -> None:
    pandas = pytest.importorskip("pandas")
    given = (["c", "p"], (100, 100), [90], pandas.Series([0.5, 0.6]), np.array([0.01]), 0.2)
    price = py_vollib_vectorized.vectorized_black_scholes(*given, return_as="array")
    np.testing.assert_allclose(price, [12.11158143, 2.02418536], atol=5e-9)
    frame = pandas.DataFrame({"Flag": ["c", "p"], "S": 95, "K": [100, 90], "T": 0.2, "R": 0.2, "IV": 0.2})
    names = {"flag_col": "Flag", "underlying_price_col": "S", "strike_col": "K", "annualized_tte_col": "T",
             "riskfree_rate_col": "R", "sigma_col": "IV"}  # fmt: skip
    for surface, _ in SURFACES:
        found = surface.price_dataframe(frame, **names)
        assert list(found) == ["Price", "delta", "gamma", "theta", "rho", "vega"]
        np.testing.assert_allclose(found["Price"], [2.895588, 0.611094], atol=5e-7)
        np.testing.assert_allclose(found["delta"], [0.467506, -0.136447], atol=2e-6)


@both
def test_tables_go_by_position_and_in_place(surface: Any, prefix: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"f": ["c", "p"], "S": 95.0, "K": [100.0, 90.0], "t": 0.2, "r": 0.2, "v": 0.2,
                              "q": 0.01}, index=["x", "y"])  # fmt: skip
    names = {"flag_col": "f", "underlying_price_col": "S", "strike_col": "K", "annualized_tte_col": "t",
             "riskfree_rate_col": "r", "model": "black_scholes_merton", "dividend_col": "q"}  # fmt: skip
    found = surface.price_dataframe(frame, **names, sigma_col="v")
    assert list(found.index) == ["x", "y"] and not found.isna().any(axis=None)
    frame["paid"] = found["Price"]
    assert surface.price_dataframe(frame, **names, price_col="paid", inplace=True) is None
    np.testing.assert_allclose(frame["IV"], 0.2, rtol=1e-12)
    np.testing.assert_allclose(frame["delta"], found["delta"], rtol=1e-12)
    with pytest.raises(ValueError, match="dividend yield"):
        surface.price_dataframe(frame, **names | {"dividend_col": None}, sigma_col="v")
    with pytest.raises(ValueError, match="neither `sigma_col` nor"):
        surface.price_dataframe(frame, **names)
    with pytest.raises(ValueError, match="no column 'nothing'; the DataFrame has f, S"):
        surface.price_dataframe(frame, **names, sigma_col="nothing")
    with pytest.raises((ValueError, AssertionError), match="was not named"):
        surface.price_dataframe(frame, **names | {"strike_col": None}, sigma_col="v")


@both
def test_containers_and_shapes(surface: Any, prefix: str) -> None:
    pandas = pytest.importorskip("pandas")
    price = getattr(surface, f"{prefix}black_scholes")
    numbers = price("c", 100, 100, 1, 0, 0.2)
    assert isinstance(numbers, pandas.DataFrame) and numbers.shape == (1, 1) and list(numbers) == ["Price"]
    series = price("c", 100, 100, 1, 0, 0.2, return_as="series")
    assert isinstance(series, pandas.Series) and series.name == "Price"
    strikes = np.array([[90.0], [100.0]])
    square = price(["c"], 100, strikes, 1, 0, 0.2, return_as="numpy", dtype=np.float32)
    assert square.dtype == np.float32 and square.shape == ((2, 1) if surface is fast_vollib else (2,))
    greeks = json.loads(surface.get_all_greeks(["c"], 100, 100, 1, 0, 0.2, return_as="json"))
    assert greeks["delta"] == [op.delta("c", 100, 100, 1, 0, 0.2)]
    table = pandas.DataFrame({"K": [90.0, 100.0]})
    np.testing.assert_array_equal(
        price(["c", "c"], 100, table, 1, 0, 0.2, return_as="numpy"),
        op.price("c", 100.0, np.array([90.0, 100.0]), 1.0, 0.0, 0.2),
    )
    with pytest.raises(ValueError, match="2 columns"):
        price("c", 100, pandas.DataFrame({"a": [1.0], "b": [2.0]}), 1, 0, 0.2)


def test_flags_of_each_library() -> None:
    vectorized = py_vollib_vectorized.vectorized_delta
    wanted = [op.delta("c", 100, 90, 1, 0, 0.2), op.delta("p", 100, 90, 1, 0, 0.2)]
    for flags in ("cp", ["c", "p"], [1, -1], ["1", "-1"], np.array(["c", "p"]), np.array(["c", "-1"])):
        np.testing.assert_array_equal(vectorized(flags, 100, 90, 1, 0, 0.2, return_as="numpy"), wanted)
    for flags in (["c", "p"], ["C", "P"], ["call", "put"], np.array(["c", "P"])):
        np.testing.assert_array_equal(
            fast_vollib.vectorized_delta(flags, 100, 90, 1, 0, 0.2, return_as="numpy"), wanted
        )
    for call, error in (
        (lambda: vectorized(["c", "x"], 100, 90, 1, 0, 0.2), KeyError),
        (lambda: fast_vollib.vectorized_delta(["c", "x"], 100, 90, 1, 0, 0.2), ValueError),
        (lambda: scalar("black", "", "black")("x", 100, 90, 1, 0, 0.2), KeyError),
    ):
        with pytest.raises(error, match="flag 'x' is neither call nor put") as caught:
            call()
        assert isinstance(caught.value, UsageError) and "\n" not in str(caught.value)


@pytest.mark.parametrize("model", MODELS)
def test_prices_that_no_volatility_explains(model: str) -> None:
    implied = scalar(model, ".implied_volatility", "implied_volatility")
    middle = (0, 1) if model == "black" else (1, 0) if model == "black_scholes" else (1, 0, 0)
    with pytest.raises(PriceIsBelowIntrinsic, match="below its intrinsic"):
        implied(9.0, 110, 100, *middle, "c")
    with pytest.raises(PriceIsAboveMaximum, match="at or above its bound"):
        implied(110.0, 110, 100, *middle, "c")
    assert implied(op.price("c", 110, 100, 1, 0, 0.3), 110, 100, *middle, "c") == pytest.approx(
        0.3, rel=1e-13
    )
    with pytest.raises(ValueError, match="not an option"):
        implied(9.0, -110, 100, *middle, "c")


@both
def test_error_policies(surface: Any, prefix: str) -> None:
    implied = getattr(surface, f"{prefix}implied_volatility")
    given = ([9.0, 12.0, 200.0], 110, 100, 1, 0, ["c", "c", "c"])
    with pytest.warns(UserWarning, match="below its intrinsic"):
        found = implied(*given, return_as="numpy")
    assert list(np.isnan(found)) == [True, False, True]
    np.testing.assert_array_equal(implied(*given, on_error="ignore", return_as="numpy"), found)
    with pytest.raises(PriceIsBelowIntrinsic) as caught:
        implied(*given, on_error="raise")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(PriceIsAboveMaximum):
        implied([12.0, 200.0], 110, 100, 1, 0, ["c", "c"], on_error="raise")
    with pytest.raises(ValueError, match="on_error"):
        implied(*given, on_error="shout")
    with pytest.raises(ValueError, match="must be one of black, "):
        surface.vectorized_delta(["c"], 100, 100, 1, 0, 0.2, model="bachelier")
    with pytest.raises(ValueError, match="needs one, 0 for none"):
        surface.vectorized_delta(["c"], 100, 100, 1, 0, 0.2, model="black_scholes_merton")
    with pytest.warns(UserWarning, match="not an option"):
        price = getattr(surface, f"{prefix}black")(["c", "c"], 100, [90, -90], 1, 0, 0.2, return_as="numpy")
    assert list(np.isnan(price)) == [False, True]


def test_a_price_of_nothing() -> None:
    given = (0.0, 100, 120, 1, 0, "c")
    assert py_vollib_vectorized.vectorized_implied_volatility(*given, return_as="numpy") == [0.0]
    assert math.isnan(fast_vollib.fast_implied_volatility(*given, return_as="numpy")[0])


def test_backends_are_names_only() -> None:
    torch = pytest.importorskip("torch")
    given = (["c", "p"], 100, torch.tensor([90.0, 110.0], dtype=torch.float64), 1, 0.01, 0.2)
    native = fast_vollib.fast_black_scholes(*given, backend="torch", return_native=True)
    assert isinstance(native, torch.Tensor)
    np.testing.assert_array_equal(native.numpy(), fast_vollib.fast_black_scholes(*given, return_as="numpy"))
    fast_vollib.set_backend("numba")
    assert fast_vollib.get_backend() == "numba" and fast_vollib.get_backend("jax") == "jax"
    fast_vollib.set_backend("auto")
    with pytest.raises(ValueError, match="must be one of auto, numpy"):
        fast_vollib.set_backend("cobol")


def test_importing_a_surface_imports_no_peer() -> None:
    code = (
        "import sys; from kernelwright.workloads.option_pricing.compat import fast_vollib, "
        "py_vollib_vectorized; print({'py_vollib', 'fast_vollib', 'numba', 'pandas', 'torch'} & "
        "set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
