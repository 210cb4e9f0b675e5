"""The functions of py_vollib_vectorized and fast_vollib, which differ in little: arrays in, DataFrames out.

A `Surface` is one of the two. Arguments are numbers, lists, arrays, Series, single-column DataFrames or
tensors; they broadcast, by position, and a call of numbers has one row. `return_as` is "dataframe", "series",
or anything else for an array. An option that is none (a negative strike) has NaN and an `OptionWarning`.

Not covered: JAX arrays; results on a GPU (`return_native` gives a tensor on the CPU).
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.workloads.option_pricing import containers
from kernelwright.workloads.option_pricing.compat import quoted
from kernelwright.workloads.option_pricing.compat.errors import BadArgument, BadColumn, UnknownFlag
from kernelwright.workloads.option_pricing.faults import POLICIES

MERTON = quoted.MODELS[-1]


@dataclass(frozen=True, slots=True)
class Surface:
    """What sets one library apart from the other."""

    signs: Callable[[Any], Any]
    """From its flags to +1 and -1; UnknownFlag for others."""
    flat: bool
    """Whether arrays of several dimensions come back with one."""
    warns_of_both: bool
    """Whether a DataFrame with prices and volatilities gets a warning."""
    least_price: float
    """A price that is not above it has no volatility."""

    def one(self, name: str, model: str, given: tuple[Any, ...], return_as: str, dtype: Any) -> Any:
        """Price or Greek. `given`: flag, underlying, strike, years, rate, volatility and yield or None."""
        found = quoted.one(name, model, self._ready(model, given, dtype), "warn")
        return returned(self._typed(found, dtype), "Price" if name == "price" else name, return_as)

    def greeks(self, model: str, given: tuple[Any, ...], return_as: str, dtype: Any) -> Any:
        """All Greeks as a DataFrame, or as JSON, or as a dictionary of arrays."""
        found = quoted.greeks(model, self._ready(model, given, dtype), "warn")
        made = {name: self._typed(value, dtype) for name, value in found.items()}
        if return_as == "json":
            return json.dumps({name: value.tolist() for name, value in made.items()})
        return import_module("pandas").DataFrame(made) if return_as == "dataframe" else made

    def implied(
        self, model: str, price: Any, given: tuple[Any, ...], on_error: str, return_as: str, dtype: Any
    ) -> Any:
        """Implied volatility. `given`: flag, underlying, strike, years, rate and yield or None."""
        if on_error not in POLICIES:
            raise BadArgument(f"on_error is {on_error!r}; it must be one of {', '.join(POLICIES)}")
        ready = self._ready(model, given, dtype)
        paid = self._column(price, dtype)
        found = self._typed(quoted.implied(model, (paid, *ready), on_error), dtype)
        return returned(np.where(paid > self.least_price, found, np.nan), "IV", return_as)

    def _ready(self, model: str, given: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
        flag, *market, dividend_yield = given
        columns = [self.signs(flag), *(self._column(value, dtype) for value in market)]
        if quoted.known(model) != MERTON:
            return tuple(columns)
        if dividend_yield is None:
            raise BadArgument("no dividend yield `q` was given; black_scholes_merton needs one, 0 for none")
        return (*columns, self._column(dividend_yield, dtype))

    def _column(self, value: Any, dtype: Any) -> Any:
        given = np.atleast_1d(plain(value))
        wrong = BadArgument(f"an argument is of type {given.dtype}; give real numbers")
        if given.dtype.kind == "c":
            raise wrong
        try:
            array = given.astype(dtype or np.float64, copy=False)
        except (TypeError, ValueError, OverflowError):
            raise wrong from None
        return array.ravel() if self.flat else array

    def _typed(self, found: Any, dtype: Any) -> Any:
        return found.astype(dtype or np.float64, copy=False)


def plain(value: Any) -> Any:
    """A number or array with the contents of an argument. BadArgument for a DataFrame of several columns."""
    pandas, torch = sys.modules.get("pandas"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
    if pandas is not None and isinstance(value, pandas.DataFrame):
        if value.shape[1] != 1:
            raise BadArgument(f"a DataFrame of {value.shape[1]} columns was given; give one column")
        return value.iloc[:, 0].to_numpy()
    try:
        return containers.plain(value)
    except UsageError as error:
        raise BadArgument(str(error)) from None


def returned(values: Any, name: str, return_as: str) -> Any:
    """An array as it is, or as the Series or the column of a DataFrame called `name`."""
    if return_as == "series":
        return import_module("pandas").Series(values, name=name)
    return import_module("pandas").DataFrame({name: values}) if return_as == "dataframe" else values


def signs_of(flag: Any, calls: tuple[Any, ...], puts: tuple[Any, ...]) -> Any:
    """+1 where a flag is among `calls` and -1 where it is among `puts`; UnknownFlag for any other."""
    array = np.atleast_1d(flag)
    if array.dtype == "U1" and array.dtype.isnative and array.flags.c_contiguous:
        # One code point each: looked up faster than compared.
        found = _letters(calls, puts)[np.minimum(array.view(np.uint32), 127)]
        if not np.isnan(found).any():
            return found
    call, put = (np.logical_or.reduce([array == name for name in names]) for names in (calls, puts))
    if not np.all(call | put):
        unknown = array[~(call | put)].flat[0]
        raise UnknownFlag(f"flag {str(unknown)!r} is neither call nor put; give 'c' or 'p'")
    return np.where(call, 1.0, -1.0)


@lru_cache
def _letters(calls: tuple[Any, ...], puts: tuple[Any, ...]) -> Any:
    """Signs by code point; NaN for other letters."""
    table = np.full(128, np.nan)
    for sign, names in ((1.0, calls), (-1.0, puts)):
        table[[ord(name) for name in names if isinstance(name, str) and len(name) == 1]] = sign
    return table


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of a DataFrame's columns, as `price_dataframe` takes them; None where there is none."""

    flag: str | None
    underlying: str | None
    strike: str | None
    years: str | None
    rate: str | None
    sigma: str | None
    price: str | None
    dividend: str | None


def price_dataframe(
    surface: Surface, frame: Any, columns: Columns, model: str, inplace: bool, dtype: Any
) -> Any:
    """Columns Price (from volatilities) or IV (from prices), and the Greeks; added to `frame` if in place."""
    market = [column(frame, getattr(columns, name), name) for name in Columns.__slots__[:5]]
    sigma, paid, dividend_yield = (
        None if name is None else column(frame, name, "")
        for name in (columns.sigma, columns.price, columns.dividend if model == MERTON else None)
    )
    output = frame if inplace else import_module("pandas").DataFrame(index=frame.index)
    if sigma is None:
        if paid is None:
            raise BadColumn("neither `sigma_col` nor `price_col` was given; name one of them, or both")
        given = (*market, dividend_yield)
        output["IV"] = sigma = surface.implied(model, paid, given, "warn", "numpy", dtype)
    elif paid is None:
        output["Price"] = surface.one("price", model, (*market, sigma, dividend_yield), "numpy", dtype)
    elif surface.warns_of_both:
        warnings.warn("prices and volatilities were given; Greeks are of the volatilities", stacklevel=3)
    for name, values in surface.greeks(model, (*market, sigma, dividend_yield), "dict", dtype).items():
        output[name] = values
    return None if inplace else output


def column(frame: Any, name: Any, what: str) -> Any:
    """A column's values. BadColumn where it was not named, or is not there."""
    if name is None:
        raise BadColumn(
            f"the column with the {what} was not named; give every `..._col` but those for models"
        )
    if name not in frame:
        raise BadColumn(
            f"there is no column {name!r}; the DataFrame has {', '.join(map(str, frame.columns))}"
        )
    return frame[name].to_numpy()
