"""Puts drop-in functions into the modules of py_vollib and py_vollib_vectorized, where others look for them.

Code that looks a function up in its module at each call gets ours from then on; what was imported by name
before keeps the original. There is no way back in the same process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, update_wrapper
from importlib import import_module
from typing import Any

from kernelwright.workloads.option_pricing.compat.quoted import GREEKS, MODELS

_PLACES = {
    "models": ("vectorized_black", "vectorized_black_scholes", "vectorized_black_scholes_merton"),
    "implied_volatility": ("vectorized_implied_volatility", "vectorized_implied_volatility_black"),
    "api": ("get_all_greeks", "price_dataframe"),
}
"""Modules of py_vollib_vectorized, and what they define under the names of the package."""


def patch_py_vollib(functions: Mapping[str, Any], prefix: str) -> None:
    """Price, implied volatility and `greeks.numerical` of each model, with the model bound.

    `functions` are a surface's own, whose prices and volatilities are called `prefix` and py_vollib's name.
    """
    for model in MODELS:
        base = f"py_vollib.{model}"
        setattr(import_module(base), model, functions[f"{prefix}{model}"])
        implied = functions[f"{prefix}implied_volatility{'_black' * (model == 'black')}"]
        bound = implied if model == "black" else _bound(implied, model)
        import_module(f"{base}.implied_volatility").implied_volatility = bound  # type: ignore[attr-defined]
        numerical = import_module(f"{base}.greeks.numerical")
        for name in GREEKS:
            setattr(numerical, name, _bound(functions[f"vectorized_{name}"], model))


def patch_py_vollib_vectorized(functions: Mapping[str, Any]) -> None:
    """All public functions of the package, and where its modules define them."""
    package = import_module("py_vollib_vectorized")
    for place, names in _PLACES.items():
        for name in names:
            ours = functions.get(name) or functions[name.replace("vectorized_", "fast_")]
            setattr(package, name, ours)
            setattr(import_module(f"py_vollib_vectorized.{place}"), name, ours)
    for name in GREEKS:
        ours = functions[f"vectorized_{name}"]
        setattr(package, f"vectorized_{name}", ours)
        setattr(import_module("py_vollib_vectorized.greeks"), name, ours)


def _bound(function: Any, model: str) -> Any:
    return update_wrapper(partial(function, model=model), function)
