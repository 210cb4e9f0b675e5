"""The field's own libraries, called as their documentation says: what the benchmark measures beside.

    py_vollib                  scalar; a loop over options, as its users write it
    py_vollib_vectorized       numba; arrays. Version 0.1.1 works with py_vollib 1.0.1 and
                               py_lets_be_rational 1.0.1, not with later ones
    fast_vollib                arrays; each of its backends that is installed, and its "Let's Be Rational" in
                               numba

A task takes a book once, outside the clock, and returns what is timed. What a peer lacks is left out. Outputs
are plain arrays wherever the peer can return them, and warnings are off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelwright.core.errors import EnvironmentFault

Floats = npt.NDArray[np.float64]
Thunk = Callable[[], Any]
TASKS = ("price", "implied_volatility", "greeks")


@dataclass(frozen=True, slots=True)
class Book:
    """Black-Scholes options: arrays of one length, and one rate."""

    calls: npt.NDArray[np.bool_]
    spot: Floats
    strike: Floats
    years: Floats
    volatility: Floats
    price: Floats
    rate: float

    @property
    def flags(self) -> npt.NDArray[np.str_]:
        """ "c" or "p" for each option."""
        return np.where(self.calls, "c", "p")


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to do the tasks with one library."""

    name: str
    """Module, and its backend where there are several."""
    version: str
    tasks: Mapping[str, Callable[[Book], Thunk]]
    most: int
    """Options up to which it is measured: a loop in Python is not asked for a million."""


def peers() -> Iterator[Peer]:
    """Those that are installed here."""
    for module, make in (
        ("py_vollib", _scalar),
        ("py_vollib_vectorized", _vectorized),
        ("fast_vollib", _fast),
    ):
        if find_spec(module) is not None:
            yield from make()


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


@lru_cache(maxsize=1)
def _of_py_vollib() -> tuple[list[Callable[..., float]], Callable[..., float]]:
    """Price and Greeks, and implied volatility, as py_vollib defines them.

    Kept from the first call: importing py_vollib_vectorized puts its own functions in their places.
    """
    if "py_vollib_vectorized" in sys.modules:
        raise EnvironmentFault("py_vollib has been patched by py_vollib_vectorized; begin in a new process")
    base = "py_vollib.black_scholes"
    greek = import_module(f"{base}.greeks.analytical")
    each = [import_module(base).black_scholes, greek.delta, greek.gamma, greek.vega, greek.theta, greek.rho]
    return each, import_module(f"{base}.implied_volatility").implied_volatility


def _scalar() -> Iterator[Peer]:
    each, implied = _of_py_vollib()
    value = each[0]

    def rows(book: Book, last: Floats) -> list[tuple[Any, ...]]:
        columns = (book.flags, book.spot, book.strike, book.years, last)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def price(book: Book) -> Thunk:
        given, rate = rows(book, book.volatility), book.rate
        return lambda: [value(flag, s, k, t, rate, sigma) for flag, s, k, t, sigma in given]

    def volatility(book: Book) -> Thunk:
        given, rate = rows(book, book.price), book.rate
        return lambda: [implied(paid, s, k, t, rate, flag) for flag, s, k, t, paid in given]

    def greeks(book: Book) -> Thunk:
        given, rate = rows(book, book.volatility), book.rate
        return lambda: [[one(flag, s, k, t, rate, sigma) for one in each] for flag, s, k, t, sigma in given]

    tasks = {"price": price, "implied_volatility": volatility, "greeks": greeks}
    yield Peer("py_vollib", _version("py_vollib"), tasks, most=1000)


def _vectorized() -> Iterator[Peer]:
    module = import_module("py_vollib_vectorized")
    plain = {"return_as": "numpy"}

    def price(book: Book) -> Thunk:
        given = (book.flags, book.spot, book.strike, book.years, book.rate, book.volatility)
        return lambda: module.vectorized_black_scholes(*given, **plain)

    def volatility(book: Book) -> Thunk:
        given = (book.price, book.spot, book.strike, book.years, book.rate, book.flags)
        return lambda: module.vectorized_implied_volatility(
            *given, on_error="ignore", model="black_scholes", **plain
        )

    def greeks(book: Book) -> Thunk:
        given = (book.flags, book.spot, book.strike, book.years, book.rate, book.volatility)
        return lambda: (
            module.vectorized_black_scholes(*given, **plain),
            module.get_all_greeks(*given, model="black_scholes", return_as="dict"),
        )

    tasks = {"price": price, "implied_volatility": volatility, "greeks": greeks}
    yield Peer("py_vollib_vectorized", _version("py_vollib_vectorized"), tasks, most=1_000_000)


def _fast() -> Iterator[Peer]:
    found = _version("fast-vollib")
    for backend in ("numpy", "numba", "torch", "jax"):
        if find_spec(backend) is not None:
            yield Peer(f"fast_vollib {backend}", found, _fast_tasks(backend), most=1_000_000)
    if find_spec("numba") is not None:
        yield Peer("fast_vollib jackel numba", found, {"implied_volatility": _fast_jackel}, most=1_000_000)


def _fast_tasks(backend: str) -> dict[str, Callable[[Book], Thunk]]:
    module = import_module("fast_vollib")
    plain = {"return_as": "numpy", "backend": backend}

    def price(book: Book) -> Thunk:
        given = (book.flags, book.spot, book.strike, book.years, book.rate, book.volatility)
        return lambda: module.fast_black_scholes(*given, **plain)

    def volatility(book: Book) -> Thunk:
        given = (book.price, book.spot, book.strike, book.years, book.rate, book.flags)
        return lambda: module.fast_implied_volatility(
            *given, on_error="ignore", model="black_scholes", **plain
        )

    def greeks(book: Book) -> Thunk:
        given = (book.flags, book.spot, book.strike, book.years, book.rate, book.volatility)
        return lambda: (
            module.fast_black_scholes(*given, **plain),
            module.get_all_greeks(*given, model="black_scholes", return_as="dict", backend=backend),
        )

    return {"price": price, "implied_volatility": volatility, "greeks": greeks}


def _fast_jackel(book: Book) -> Thunk:
    implied = import_module("fast_vollib.jackel").jackel_iv_black
    # It takes undiscounted prices on forwards: brought there outside the clock, in its favour.
    growth = np.exp(book.rate * book.years)
    given = (book.price * growth, book.spot * growth, book.strike, book.years, book.calls)
    return lambda: implied(*given)
