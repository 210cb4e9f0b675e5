"""What the peers themselves answer, in a process of its own: importing one of them changes another.

    python drop_in_peers.py book.npz answers.npz

The book has arrays flag, S, K, t, r, sigma and q. Answers are called `library model name`; `signatures` holds
parameters of the peers' functions as JSON.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from importlib import import_module
from typing import Any

import numpy as np

MODELS = ("black", "black_scholes", "black_scholes_merton")
GREEKS = ("delta", "gamma", "theta", "rho", "vega")
FAST = ("fast_black", "fast_black_scholes", "fast_black_scholes_merton", "fast_implied_volatility",
        "fast_implied_volatility_black", "get_all_greeks", "price_dataframe", "vectorized_delta",
        "vectorized_gamma", "vectorized_theta", "vectorized_rho", "vectorized_vega")  # fmt: skip


def parameters(function: Any) -> list[list[str]]:
    """Name and kind of each parameter."""
    return [[name, each.kind.name] for name, each in inspect.signature(function).parameters.items()]


def scalar(book: dict[str, Any], answers: dict[str, Any], signatures: dict[str, Any]) -> None:
    for model in MODELS:
        base = f"py_vollib.{model}"
        price = getattr(import_module(base), model)
        implied = import_module(f"{base}.implied_volatility").implied_volatility
        greeks = import_module(f"{base}.greeks.analytical")
        signatures[f"{base} {model}"] = parameters(price)
        signatures[f"{base}.implied_volatility implied_volatility"] = parameters(implied)
        names = ["S", "K", "t", "r", "sigma", *(["q"] if model == MODELS[-1] else [])]
        rows = list(zip(book["flag"].tolist(), *(book[name].tolist() for name in names), strict=True))
        paid = [float(price(*row)) for row in rows]
        answers[f"py_vollib {model} price"] = paid
        for name in GREEKS:
            signatures[f"{base}.greeks.analytical {name}"] = parameters(getattr(greeks, name))
            answers[f"py_vollib {model} {name}"] = [float(getattr(greeks, name)(*row)) for row in rows]
        answers[f"py_vollib {model} implied"] = [
            float(implied(value, *between(model, row), row[0])) for value, row in zip(paid, rows, strict=True)
        ]


def between(model: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What stands between price and flag in the order of each model."""
    _, spot, strike, years, rate, _, *dividend = row
    return (spot, strike, rate, years) if model == "black" else (spot, strike, years, rate, *dividend)


def arrays(
    name: str, prefix: str, book: dict[str, Any], answers: dict[str, Any], signatures: dict[str, Any]
) -> None:
    module = import_module(name)
    for public in FAST:
        public = public.replace("fast_", prefix)
        signatures[f"{name} {public}"] = parameters(getattr(module, public))
    plain = {"return_as": "numpy"}
    given = [book[part] for part in ("flag", "S", "K", "t", "r", "sigma")]
    for model in MODELS:
        dividend = [book["q"]] if model == MODELS[-1] else []
        price = getattr(module, f"{prefix}{model}")(*given, *dividend, **plain)
        answers[f"{name} {model} price"] = price
        if model == "black":
            implied = getattr(module, f"{prefix}implied_volatility_black")(
                price, *given[1:3], book["r"], book["t"], given[0], **plain
            )
        else:
            implied = getattr(module, f"{prefix}implied_volatility")(
                price, *given[1:5], given[0], *dividend, model=model, **plain
            )
        answers[f"{name} {model} implied"] = implied
        if (name, model) != ("py_vollib_vectorized", "black"):
            for greek, found in module.get_all_greeks(
                *given, *dividend, model=model, return_as="dict"
            ).items():
                answers[f"{name} {model} {greek}"] = found


def main() -> None:
    warnings.simplefilter("ignore")
    book = dict(np.load(sys.argv[1]))
    answers: dict[str, Any] = {}
    signatures: dict[str, Any] = {}
    scalar(book, answers, signatures)
    arrays("fast_vollib", "fast_", book, answers, signatures)
    arrays("py_vollib_vectorized", "vectorized_", book, answers, signatures)
    np.savez(sys.argv[2], signatures=json.dumps(signatures), **answers)


if __name__ == "__main__":
    main()
