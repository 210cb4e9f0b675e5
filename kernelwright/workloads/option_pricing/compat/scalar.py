"""py_vollib's functions: positional arguments, one option a call, a number back.

Each maker returns the function of one name with the parameters of one of its three models. Arrays are taken
too, and broadcast. An argument that is no option raises `BadArgument`, a ValueError, in one line, where
py_vollib raises whatever its arithmetic stumbles over, or returns NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.core.errors import UsageError
from kernelwright.workloads.option_pricing.compat import quoted
from kernelwright.workloads.option_pricing.compat.errors import UnknownFlag
from kernelwright.workloads.option_pricing.flags import sign_of

BLACK, SPOT, MERTON = quoted.MODELS
Function = Callable[..., Any]


def on_forward(name: str) -> Function:
    """`name` of an option on a forward or futures price, under Black-76."""

    def function(flag: Any, F: Any, K: Any, t: Any, r: Any, sigma: Any) -> Any:
        return quoted.one(name, BLACK, (sign(flag), *wide(F, K, t, r, sigma)))

    return _named(function, name, BLACK)


def on_spot(name: str) -> Function:
    """`name` of an option on a spot price without dividends, under Black-Scholes."""

    def function(flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any) -> Any:
        return quoted.one(name, SPOT, (sign(flag), *wide(S, K, t, r, sigma)))

    return _named(function, name, SPOT)


def on_yielding(name: str) -> Function:
    """`name` of an option on a spot price with a dividend yield, under Black-Scholes-Merton."""

    def function(flag: Any, S: Any, K: Any, t: Any, r: Any, sigma: Any, q: Any) -> Any:
        return quoted.one(name, MERTON, (sign(flag), *wide(S, K, t, r, sigma, q)))

    return _named(function, name, MERTON)


def sign(flag: Any) -> Any:
    """+1 for "c" and -1 for "p"; UnknownFlag, a KeyError, for anything else."""
    try:
        return sign_of(flag)
    except UsageError as error:
        raise UnknownFlag(str(error)) from None


def wide(*values: Any) -> tuple[Any, ...]:
    """The arguments with NumPy's floats as float64: py_vollib answers in it, whatever it is given."""
    return tuple(_wide(value) for value in values)


def _wide(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind != "f":
        return value
    return value.astype(np.float64) if value.ndim else float(value)


def _named(function: Function, name: str, model: str) -> Function:
    function.__name__ = function.__qualname__ = model if name == "price" else name
    units = {"theta": ", for a day", "vega": ", for 1 %", "rho": ", for 1 %"}
    function.__doc__ = f"The {name} under {model}{units.get(name, '')}; `flag` is 'c' or 'p'."
    return function
