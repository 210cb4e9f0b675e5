"""fast_vollib's pricing: prices, implied volatilities and Greeks of arrays, DataFrames, and its patches.

    from kernelwright.workloads.option_pricing.compat import fast_vollib

    fast_vollib.fast_black_scholes("c", 100, [90, 100], 0.5, 0.01, 0.2, return_as="numpy")

`backend` and `set_backend` take the original's names and change nothing: there is one kernel. Not covered:
its `jackel`, `surface` and later packages, and `implied_volatility_autograd`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelwright.workloads.option_pricing.compat import patch
from kernelwright.workloads.option_pricing.compat.errors import BadArgument
from kernelwright.workloads.option_pricing.compat.vectorized import (
    Columns,
    Surface,
    plain,
    signs_of,
)
from kernelwright.workloads.option_pricing.compat.vectorized import price_dataframe as _price_dataframe

BACKENDS = ("auto", "numpy", "torch", "jax", "numba")
_chosen = ["auto"]


def _signs(flag: Any) -> Any:
    """The first letter counts, in either case."""
    return signs_of(np.asarray(plain(flag)).astype("U1"), ("c", "C"), ("p", "P"))


SURFACE = Surface(signs=_signs, flat=False, warns_of_both=False, least_price=0.0)


def set_backend(name: str) -> None:
    """Accept one of the original's backends."""
    _chosen[0] = _known(name)


def get_backend(explicit: str | None = None) -> str:
    """The backend that was chosen."""
    return _known(explicit or _chosen[0])


def fast_black(
    flag: Any, F: Any, K: Any, t: Any, r: Any, sigma: Any, *, return_as: str = "dataframe",
    dtype: Any = np.float64, backend: str = "auto", return_native: bool = False,
) -> Any:  # fmt: skip
    """Prices under Black-76."""
    return _one("price", "black", (flag, F, K, t, r, sigma, None), return_as, dtype, backend, return_native)


def fast_black_scholes(
    flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, *, return_as: str = "dataframe",
    dtype: Any = np.float64, backend: str = "auto", return_native: bool = False,
) -> Any:  # fmt: skip
    """Prices under Black-Scholes."""
    given = (flag, S, K, t, r, sigma, None)
    return _one("price", "black_scholes", given, return_as, dtype, backend, return_native)


def fast_black_scholes_merton(
    flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, q: Any, *, return_as: str = "dataframe",
    dtype: Any = np.float64, backend: str = "auto", return_native: bool = False,
) -> Any:  # fmt: skip
    """Prices under Black-Scholes-Merton."""
    given = (flag, S, K, t, r, sigma, q)
    return _one("price", "black_scholes_merton", given, return_as, dtype, backend, return_native)


def fast_implied_volatility(
    price: Any, S: Any, K: Any, t: Any, r: Any, flag: Any, q: Any = None, *, on_error: str = "warn",
    model: str = "black_scholes", return_as: str = "dataframe", dtype: Any = np.float64,
    backend: str = "auto", return_native: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Implied volatilities; NaN where there is none, and for a price of 0."""
    form = _form(return_as, backend, return_native)
    found = SURFACE.implied(model, price, (flag, S, K, t, r, q), on_error, form, dtype)
    return _native(found, form)


def fast_implied_volatility_black(
    price: Any, F: Any, K: Any, r: Any, t: Any, flag: Any, *, on_error: str = "warn",
    return_as: str = "dataframe", dtype: Any = np.float64, backend: str = "auto",
    return_native: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Implied volatilities under Black-76. The rate stands before the time here."""
    return fast_implied_volatility(
        price, F, K, t, r, flag, on_error=on_error, model="black", return_as=return_as, dtype=dtype,
        backend=backend, return_native=return_native,
    )  # fmt: skip


def _greek(name: str) -> Any:
    def function(
        flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, q: Any = None, *,
        model: str = "black_scholes", return_as: str = "dataframe", dtype: Any = np.float64,
        backend: str = "auto", return_native: bool = False,
    ) -> Any:  # fmt: skip
        return _one(name, model, (flag, S, K, t, r, sigma, q), return_as, dtype, backend, return_native)

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
    return_as: str = "dataframe", dtype: Any = None, backend: str = "auto", return_native: bool = False,
) -> Any:  # fmt: skip
    """All Greeks in one pass: a DataFrame, "json" text, or a dictionary of arrays."""
    form = _form(return_as, backend, return_native)
    found = SURFACE.greeks(model, (flag, S, K, t, r, sigma, q), form, dtype)
    return {name: _native(value, form) for name, value in found.items()} if form == "tensor" else found


def price_dataframe(
    df: Any, *, flag_col: str | None = None, underlying_price_col: str | None = None,
    strike_col: str | None = None, annualized_tte_col: str | None = None,
    riskfree_rate_col: str | None = None, sigma_col: str | None = None, price_col: str | None = None,
    dividend_col: str | None = None, model: str = "black_scholes", inplace: bool = False,
    dtype: Any = None, backend: str = "auto", return_native: bool = False,
) -> Any:  # fmt: skip
    """Price or IV, and the Greeks, of the options in the rows of `df`, by position."""
    _known(backend)
    columns = Columns(
        flag_col, underlying_price_col, strike_col, annualized_tte_col, riskfree_rate_col, sigma_col,
        price_col, dividend_col,
    )  # fmt: skip
    return _price_dataframe(SURFACE, df, columns, model, inplace, dtype)


def patch_py_vollib() -> None:
    """Put these functions in py_vollib's places, each with its model bound. ImportError without py_vollib."""
    patch.patch_py_vollib(globals(), "fast_")


def patch_py_vollib_vectorized() -> None:
    """Put these functions in py_vollib_vectorized's places. ImportError where that is not installed."""
    patch.patch_py_vollib_vectorized(globals())


def _one(
    name: str, model: str, given: tuple[Any, ...], return_as: str, dtype: Any, backend: str, native: bool
) -> Any:
    form = _form(return_as, backend, native)
    return _native(SURFACE.one(name, model, given, form, dtype), form)


def _form(return_as: str, backend: str, native: bool) -> str:
    """`return_as`, or "tensor" where one was asked for."""
    return "tensor" if native and get_backend(_known(backend)) == "torch" else return_as


def _native(values: Any, form: str) -> Any:
    if form != "tensor":
        return values
    import torch

    return torch.as_tensor(values)


def _known(backend: str) -> str:
    if backend not in BACKENDS:
        raise BadArgument(f"backend is {backend!r}; it must be one of {', '.join(BACKENDS)}")
    return backend
