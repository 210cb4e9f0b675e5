"""py_vollib_vectorized: prices, implied volatilities and Greeks of arrays, and of DataFrames.

    from kernelwright.workloads.option_pricing.compat import py_vollib_vectorized

    py_vollib_vectorized.vectorized_black_scholes("c", 100, [90, 100], 0.5, 0.01, 0.2, return_as="numpy")

Unlike the original's, importing this changes nothing in py_vollib: `patch_py_vollib` does. Greeks are
derivatives, where the original takes differences over 0.01 of the underlying, a day, and 1 %.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelwright.workloads.option_pricing.compat.patch import patch_py_vollib as _patch
from kernelwright.workloads.option_pricing.compat.vectorized import (
    Columns,
    Surface,
    plain,
    signs_of,
)
from kernelwright.workloads.option_pricing.compat.vectorized import price_dataframe as _price_dataframe


def _signs(flag: Any) -> Any:
    """Texts are sequences of flags here: "cp" are two."""
    return signs_of(plain(list(flag) if isinstance(flag, str) else flag), ("c", "1", 1), ("p", "-1", -1))


SURFACE = Surface(signs=_signs, flat=True, warns_of_both=True, least_price=-np.inf)


def vectorized_black(
    flag: Any, F: Any, K: Any, t: Any, r: Any, sigma: Any, *, return_as: str = "dataframe",
    dtype: Any = np.float64,
) -> Any:  # fmt: skip
    """Prices under Black-76, discounted (the original leaves the discount out)."""
    return SURFACE.one("price", "black", (flag, F, K, t, r, sigma, None), return_as, dtype)


def vectorized_black_scholes(
    flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, *, return_as: str = "dataframe",
    dtype: Any = np.float64,
) -> Any:  # fmt: skip
    """Prices under Black-Scholes."""
    return SURFACE.one("price", "black_scholes", (flag, S, K, t, r, sigma, None), return_as, dtype)


def vectorized_black_scholes_merton(
    flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, q: Any, *, return_as: str = "dataframe",
    dtype: Any = np.float64,
) -> Any:  # fmt: skip
    """Prices under Black-Scholes-Merton."""
    return SURFACE.one("price", "black_scholes_merton", (flag, S, K, t, r, sigma, q), return_as, dtype)


def vectorized_implied_volatility(
    price: Any, S: Any, K: Any, t: Any, r: Any, flag: Any, q: Any = None, *, on_error: str = "warn",
    model: str = "black_scholes", return_as: str = "dataframe", dtype: Any = np.float64, **kwargs: Any,
) -> Any:  # fmt: skip
    """Implied volatilities; NaN where there is none, whatever `on_error` does about it besides."""
    return SURFACE.implied(model, price, (flag, S, K, t, r, q), on_error, return_as, dtype)


def vectorized_implied_volatility_black(
    price: Any, F: Any, K: Any, r: Any, t: Any, flag: Any, *, on_error: str = "warn",
    return_as: str = "dataframe", dtype: Any = np.float64, **kwargs: Any,
) -> Any:  # fmt: skip
    """Implied volatilities under Black-76. The rate stands before the time here."""
    return SURFACE.implied("black", price, (flag, F, K, t, r, None), on_error, return_as, dtype)


def _greek(name: str) -> Any:
    def function(
        flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, q: Any = None, *,
        model: str = "black_scholes", return_as: str = "dataframe", dtype: Any = np.float64,
    ) -> Any:  # fmt: skip
        return SURFACE.one(name, model, (flag, S, K, t, r, sigma, q), return_as, dtype)

    function.__name__ = function.__qualname__ = f"vectorized_{name}"
    function.__doc__ = f"The {name} of each option; theta for a day, vega and rho for 1 %."
    return function


vectorized_delta = _greek("delta")
vectorized_gamma = _greek("gamma")
vectorized_theta = _greek("theta")
vectorized_rho = _greek("rho")
vectorized_vega = _greek("vega")


def get_all_greeks(
    flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, q: Any = None, *, model: str = "black_scholes",
    return_as: str = "dataframe", dtype: Any = np.float64,
) -> Any:  # fmt: skip
    """All Greeks in one pass: a DataFrame, "json" text, or a dictionary of arrays."""
    return SURFACE.greeks(model, (flag, S, K, t, r, sigma, q), return_as, dtype)


def price_dataframe(
    df: Any, *, flag_col: str | None = None, underlying_price_col: str | None = None,
    strike_col: str | None = None, annualized_tte_col: str | None = None,
    riskfree_rate_col: str | None = None, sigma_col: str | None = None, price_col: str | None = None,
    dividend_col: str | None = None, model: str = "black_scholes", inplace: bool = False,
    dtype: Any = np.float64,
) -> Any:  # fmt: skip
    """Price or IV, and the Greeks, of the options in the rows of `df`, by position."""
    columns = Columns(
        flag_col, underlying_price_col, strike_col, annualized_tte_col, riskfree_rate_col, sigma_col,
        price_col, dividend_col,
    )  # fmt: skip
    return _price_dataframe(SURFACE, df, columns, model, inplace, dtype)


def patch_py_vollib() -> None:
    """Put these functions in py_vollib's places, as importing the original does."""
    _patch(globals(), "vectorized_")
