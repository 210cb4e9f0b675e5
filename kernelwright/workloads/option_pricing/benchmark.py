"""The pack beside its peers on this machine: how precise, and how fast. Yields records as they are made.

Accuracy has two parts. Over all options of a series: price, implied volatility of that price, and price
again; the last against the first, and the volatility against the one begun with. On a sample of each series:
every result against the 50-digit reference. Errors are in units of what rounding must do:

    round trip      |price again - price| / (ulp(price) + vega ulp(volatility) / 2)
    volatility      |error| / (eps (volatility + price / vega)), the vega-conditioned bound

Speed: pack and peers in turns on the same arrays, medians of rounds with their 95 % intervals, and ratios of
the paired times. A peer that fails, or is not installed, is named with the reason. Not covered: several
processes (an interval allows for how processes differ, and saw one), GPUs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp

from kernelwright.core.errors import EnvironmentFault, boundary
from kernelwright.measure.statistics import median, median_interval, paired_ratio
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.peers import TASKS, Book, Floats, Thunk, peers

SIZES = (10, 1_000, 100_000, 1_000_000)
ROUNDS = {10: 41, 1_000: 41, 100_000: 21, 1_000_000: 7}
LEAST_US = 300.0
"""A sample is at least this long: short calls are repeated."""
CHUNK = 1_000_000
EPS = float(np.finfo(np.float64).eps)
OURS = "kernelwright"
Draw = Callable[[np.random.Generator, int], Book]


def records(
    random_options: int = 10_000_000, hostile_options: int = 100_000, sampled: int = 300
) -> Iterator[dict[str, Any]]:
    """Accuracy of both series, then speed by task and size."""
    for name, draw, count in (("random", traded, random_options), ("hostile", hostile, hostile_options)):
        yield {"what": "accuracy", "series": name, **accuracy(draw, count)}
        yield {"what": "oracle", "series": name, **against_oracle(draw, sampled)}
    for size in SIZES:
        for task in TASKS:
            yield {"what": "speed", "task": task, "options": size, **speed(task, size)}


def traded(rng: np.random.Generator, count: int) -> Book:
    """Options as they are traded: within three deviations of the forward, a week to three years."""
    years, volatility = rng.uniform(0.02, 3, count), rng.uniform(0.05, 0.9, count)
    strike = 100 * np.exp(rng.uniform(-3, 3, count) * volatility * np.sqrt(years))
    return _book(rng, strike, years, volatility)


def hostile(rng: np.random.Generator, count: int) -> Book:
    """Half a minute to three decades, deep in and out of the money, hardly any time value or all of it."""
    years, volatility = 10 ** rng.uniform(-6, 1.5, count), 10 ** rng.uniform(-2.5, 0.7, count)
    strike = 100 * np.exp(rng.uniform(-9, 9, count) * volatility * np.sqrt(years))
    return _book(rng, np.clip(strike, 1e-6, 1e10), years, volatility)


def _book(rng: np.random.Generator, strike: Floats, years: Floats, volatility: Floats) -> Book:
    calls, rate = rng.random(len(strike)) < 0.5, 0.03
    spot = np.full(len(strike), 100.0)
    sign = np.where(calls, 1.0, -1.0)
    return Book(
        calls, spot, strike, years, volatility, op.price(sign, spot, strike, years, rate, volatility), rate
    )


def accuracy(draw: Draw, count: int) -> dict[str, Any]:
    """Round trips of `count` options, in chunks: the worst, and the share that is within the unit."""
    rng, trips, errors, left_out = np.random.default_rng(0), [], [], 0
    for first in range(0, count, CHUNK):
        book = draw(rng, min(CHUNK, count - first))
        kept = _determined(book)
        left_out += int(np.sum(~kept))
        trip, error = _trip(_picked(book, kept))
        trips.append(trip)
        errors.append(error)
    return {
        "options": count, "without_time_value": left_out,
        "round_trip": _spread(np.concatenate(trips)), "volatility": _spread(np.concatenate(errors)),
    }  # fmt: skip


def _determined(book: Book) -> npt.NDArray[np.bool_]:
    """Options whose price has time value and is below its bound: rounding loses the others' volatility."""
    sign, discount = np.where(book.calls, 1.0, -1.0), np.exp(-book.rate * book.years)
    cash = book.strike * discount
    intrinsic, bound = np.maximum(sign * (book.spot - cash), 0.0), np.where(book.calls, book.spot, cash)
    rounding = 16 * EPS * (book.spot + cash)
    inside = (book.price - intrinsic > rounding) | (intrinsic == 0.0)
    kept: npt.NDArray[np.bool_] = inside & (bound - book.price > rounding) & (book.price > 1e-280)
    return kept


def _picked(book: Book, kept: npt.NDArray[Any]) -> Book:
    return Book(
        book.calls[kept], book.spot[kept], book.strike[kept], book.years[kept], book.volatility[kept],
        book.price[kept], book.rate,
    )  # fmt: skip


def _trip(book: Book) -> tuple[Floats, Floats]:
    sign = np.where(book.calls, 1.0, -1.0)
    contract = (sign, book.spot, book.strike, book.years, book.rate)
    found = op.implied_volatility(book.price, *contract)
    again, vega = op.price(*contract, found), op.vega(*contract, book.volatility)
    trip = np.abs(again - book.price) / (np.spacing(book.price) + vega * np.spacing(found) / 2)
    return trip, np.abs(found - book.volatility) / (EPS * (book.volatility + book.price / vega))


def _spread(units: Floats) -> dict[str, float]:
    return {
        "median": float(np.median(units)), "p999": float(np.quantile(units, 0.999)),
        "worst": float(units.max()),
    }  # fmt: skip


def against_oracle(draw: Draw, count: int) -> dict[str, Any]:
    """Price, Greeks, volatility and round trip of a sample beside the 50-digit reference."""
    book = draw(np.random.default_rng(1), 2 * count)
    book = _picked(book, np.flatnonzero(_determined(book))[:count])
    sign = np.where(book.calls, 1.0, -1.0)
    contract = (sign, book.spot, book.strike, book.years, book.rate)
    got, found = op.greeks(*contract, book.volatility), op.implied_volatility(book.price, *contract)
    units: dict[str, list[float]] = {name: [] for name in (*op.Greeks._fields, "volatility", "round_trip")}
    for i in range(len(book.price)):
        option = reference.Contract(
            float(sign[i]), float(book.spot[i]), float(book.strike[i]), float(book.years[i]), book.rate
        )
        true = reference.greeks(option, float(book.volatility[i]))
        for name, value in zip(op.Greeks._fields, got, strict=True):
            units[name].append(abs(float((mp.mpf(float(value[i])) - true[name]) / true[name])) / EPS)
        units["volatility"].append(_off(float(found[i]), float(book.price[i]), option, float(true["vega"])))
        units["round_trip"].append(
            _returned(float(found[i]), float(book.price[i]), option, float(true["vega"]))
        )
    return {"options": len(book.price), **{name: _spread(np.array(values)) for name, values in units.items()}}


def _off(found: float, price: float, option: reference.Contract, vega: float) -> float:
    true = reference.implied_volatility(price, option)
    return abs(float(mp.mpf(found) - true)) / (EPS * (found + price / vega))


def _returned(found: float, price: float, option: reference.Contract, vega: float) -> float:
    again = reference.price(option, found)
    return abs(float(again - mp.mpf(price))) / float(np.spacing(price) + vega * np.spacing(found) / 2)


def speed(task: str, size: int) -> dict[str, Any]:
    """Medians of the pack and of each peer, and how many times longer the peer takes."""
    book = traded(np.random.default_rng(2), size)
    ready, failed, versions = _ready(task, size, book)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = _in_turns(ready, ROUNDS.get(size, 7))
    ratios = {name: paired_ratio([taken], [samples[OURS]]) for name, taken in samples.items() if name != OURS}
    return {
        "us": {name: median(taken) for name, taken in samples.items()},
        "ci": {name: list(median_interval(taken)) for name, taken in samples.items()},
        "ratio": {name: ratio.ratio for name, ratio in ratios.items()},
        "ratio_ci": {name: [ratio.low, ratio.high] for name, ratio in ratios.items()},
        "peers": versions, "failed": failed,
    }  # fmt: skip


def _ready(task: str, size: int, book: Book) -> tuple[dict[str, Thunk], dict[str, str], dict[str, str]]:
    """What is timed, by name, each called twice before; why others are not; versions."""
    ready, failed, versions = {OURS: _ours(task, book)}, {}, {}
    for peer in peers():
        if task not in peer.tasks or size > peer.most:
            continue
        try:
            with boundary(EnvironmentFault, peer.name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                thunk = peer.tasks[task](book)
                thunk(), thunk()
        except EnvironmentFault as error:
            failed[peer.name] = str(error)
            continue
        ready[peer.name], versions[peer.name] = thunk, peer.version
    ready[OURS](), ready[OURS]()
    return ready, failed, versions


def _ours(task: str, book: Book) -> Thunk:
    contract = (book.flags, book.spot, book.strike, book.years, book.rate)
    if task == "implied_volatility":
        return lambda: op.implied_volatility(book.price, *contract)
    function = op.price if task == "price" else op.greeks
    return lambda: function(*contract, book.volatility)


def _in_turns(ready: dict[str, Thunk], rounds: int) -> dict[str, list[float]]:
    """Microseconds of a call, by name and round."""
    repeats = {name: max(1, int(LEAST_US / max(_timed(thunk, 1), 0.1))) for name, thunk in ready.items()}
    samples: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, thunk in ready.items():
            samples[name].append(_timed(thunk, repeats[name]))
    return samples


def _timed(thunk: Thunk, repeats: int) -> float:
    begun = time.perf_counter_ns()
    for _ in range(repeats):
        thunk()
    return (time.perf_counter_ns() - begun) / 1e3 / repeats
