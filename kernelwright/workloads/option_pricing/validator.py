"""Does a pricing library tell the truth? Checks from the field, which know nothing of any kernel.

    findings = validate(option_pricing, samples(200, seed=1))

`library` is anything with this pack's public functions. Each check states a law that holds whatever the
numbers are: put-call parity, bounds, growth with volatility, the round trip from price to volatility, and
Greeks as differences of the 50-digit price. Tolerances are in units of what rounding the arguments does to
the result (its condition), so that a law is as sharp for an option far from the money as for one at it.

Not covered: speed, error policy, containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.reference import Contract

EPS = float(np.finfo(np.float64).eps)
SLACK = 8.0
"""How many roundings a result may be off, each as large as the condition of the option makes it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An option with the volatility at which it is looked at."""

    contract: Contract
    volatility: float


@dataclass(frozen=True, slots=True)
class Finding:
    """A law that does not hold for a sample."""

    law: str
    sample: Sample
    got: float
    wanted: float
    allowed: float


def samples(count: int, seed: int) -> list[Sample]:
    """Options as they are traded, and as nobody would: strikes, times and volatilities over many orders."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        wild = 1.0 if number % 2 else 4.0
        years, volatility = float(rng.uniform(0.02, 3)), float(rng.uniform(0.05, 0.9))
        if number % 4 == 0:
            years, volatility = float(10 ** rng.uniform(-5, 1)), float(10 ** rng.uniform(-2, 0.5))
        strike = 100.0 * float(np.exp(wild * rng.normal() * volatility * np.sqrt(years)))
        rate, dividend = float(rng.uniform(-0.02, 0.1)), float(rng.uniform(0, 0.05))
        model = ("black", "black_scholes", "black_scholes_merton")[number % 3]
        dividend = dividend if model == "black_scholes_merton" else 0.0
        contract = Contract(1.0 if rng.random() < 0.5 else -1.0, 100.0, strike, years, rate, dividend, model)
        made.append(Sample(contract, volatility))
    return made


def validate(library: Any, drawn: Sequence[Sample]) -> list[Finding]:
    """Every law against every sample; an empty list where all hold."""
    return [finding for sample in drawn for law in LAWS for finding in law(library, sample)]


def call(library: Any, name: str, sample: Sample, **changed: Any) -> Any:
    """`library.<name>` of a sample, with some of its fields changed."""
    contract = sample.contract._replace(**{k: v for k, v in changed.items() if k != "volatility"})
    return getattr(library, name)(
        contract.sign, contract.underlying, contract.strike, contract.years, contract.rate,
        changed.get("volatility", sample.volatility), contract.dividend_yield, model=contract.model,
    )  # fmt: skip


def condition(sample: Sample) -> float:
    """By how much a relative change of an argument can change the price's time value, relatively."""
    contract, made = sample.contract, reference.market(sample.contract)
    s = float(sample.volatility * np.sqrt(contract.years))
    out_of_money = abs(float(made.x)) / s
    moved = abs(np.log(contract.underlying / contract.strike)) + abs(contract.rate * contract.years)
    return 1.0 + out_of_money**2 + s * s + (1.0 + out_of_money) * float(moved) / s


def prices_agree(library: Any, sample: Sample) -> Iterator[Finding]:
    """The price is the 50-digit price."""
    wanted = float(reference.price(sample.contract, sample.volatility))
    yield from _differs("price", sample, call(library, "price", sample), wanted, condition(sample) * wanted)


def parity(library: Any, sample: Sample) -> Iterator[Finding]:
    """Call less put is the discounted forward less the discounted strike (Stoll 1969)."""
    call_price = call(library, "price", sample, sign=1.0)
    put_price = call(library, "price", sample, sign=-1.0)
    made = reference.market(sample.contract)
    wanted = float(made.discount * (made.forward - mpf(sample.contract.strike)))
    scale = call_price + put_price + float(made.discount) * sample.contract.strike
    yield from _differs("parity", sample, call_price - put_price, wanted, scale)


def within_bounds(library: Any, sample: Sample) -> Iterator[Finding]:
    """A price lies between the intrinsic value and the bound."""
    least, most = (float(bound) for bound in reference.bounds(sample.contract))
    got = call(library, "price", sample)
    yield from _differs("bounds", sample, got, min(max(got, least), most), most)


def grows_with_volatility(library: Any, sample: Sample) -> Iterator[Finding]:
    """More volatility is never worth less."""
    got = call(library, "price", sample)
    more = call(library, "price", sample, volatility=sample.volatility * (1 + 1e-6))
    if more < got:
        yield from _differs("growth", sample, more, got, 0.0)


def comes_back(library: Any, sample: Sample) -> Iterator[Finding]:
    """The volatility implied by a price gives that price, and is right within what the price knows."""
    contract, value = sample.contract, call(library, "price", sample)
    least, most = reference.bounds(contract)
    if not least * (1 + mpf(64 * EPS)) < value < most * (1 - mpf(64 * EPS)):
        return
    found = library.implied_volatility(
        value, contract.sign, contract.underlying, contract.strike, contract.years, contract.rate,
        contract.dividend_yield, model=contract.model,
    )  # fmt: skip
    vega = float(reference.greeks(contract, sample.volatility)["vega"])
    again = float(reference.price(contract, found))
    yield from _differs("round trip", sample, again, value, value + vega * sample.volatility)
    sure = value / vega + sample.volatility
    yield from _differs("volatility", sample, found, sample.volatility, sure)


def greeks_are_derivatives(library: Any, sample: Sample) -> Iterator[Finding]:
    """Each Greek is a central difference of the 50-digit price, over a step small enough to be exact."""
    got = call(library, "greeks", sample)
    for name, wanted in differences(sample).items():
        scale = condition(sample) * (abs(wanted) + _of_parts(sample, name))
        yield from _differs(name, sample, getattr(got, name), wanted, scale)


def differences(sample: Sample) -> dict[str, float]:
    """Greeks by central differences in 70 digits with relative steps of 1e-14: exact to 1e-20 or so."""
    contract, sigma = sample.contract, mpf(sample.volatility)

    def at(volatility: mpf = sigma, **changed: Any) -> mpf:
        return reference.price(contract._replace(**changed), volatility, digits=70)

    with mp.workdps(70):
        step = mpf("1e-14")
        spot, years, rate = mpf(contract.underlying), mpf(contract.years), mpf(contract.rate)
        up, down = at(underlying=spot * (1 + step)), at(underlying=spot * (1 - step))
        made = {
            "delta": (up - down) / (2 * spot * step),
            "gamma": (up - 2 * at() + down) / (spot * step) ** 2,
            "vega": (at(sigma * (1 + step)) - at(sigma * (1 - step))) / (2 * sigma * step),
            "theta": (at(years=years * (1 - step)) - at(years=years * (1 + step))) / (2 * years * step),
            "rho": (at(rate=rate + step) - at(rate=rate - step)) / (2 * step),
        }
    return {name: float(value) for name, value in made.items()}


def higher_greeks_are_derivatives(library: Any, sample: Sample) -> Iterator[Finding]:
    """Each Greek of second and third order is a difference of 50-digit Greeks."""
    got, true = (
        call(library, "second_order", sample),
        reference.second_order(sample.contract, sample.volatility),
    )
    for name, size in _sizes(sample).items():
        yield from _differs(name, sample, getattr(got, name), float(true[name]), condition(sample) * size)


def _sizes(sample: Sample) -> dict[str, float]:
    """How large the parts of each sum are: with |x| / s + s / 2 for d1 and for d2, which may cancel."""
    contract, sigma = sample.contract, sample.volatility
    first = {name: float(value) for name, value in reference.greeks(contract, sigma).items()}
    black = contract.model == "black"
    cost = contract.rate if black else contract.dividend_yield
    s, half = sigma * float(np.sqrt(contract.years)), 0.5 / contract.years
    d = abs(float(reference.market(contract).x)) / s + s / 2
    turn = (0.0 if black else abs(contract.rate - cost) / s) + d * half
    drift = abs(cost) + d * turn + half
    gamma, vega = first["gamma"], first["vega"]
    return {
        "vanna": gamma * contract.underlying * s * d / sigma, "volga": vega * d * d / sigma,
        "charm": abs(cost * first["delta"]) + gamma * contract.underlying * s * turn, "veta": vega * drift,
        "speed": gamma / contract.underlying * (d / s + 1), "zomma": gamma * (d * d + 1) / sigma,
        "color": gamma * drift, "ultima": vega / sigma**2 * (d**4 + 3 * d * d),
    }  # fmt: skip


def _of_parts(sample: Sample, name: str) -> float:
    """Theta is a sum whose parts may nearly cancel: it is as precise as they are. 0 for the others."""
    if name != "theta":
        return 0.0
    found, contract = reference.greeks(sample.contract, sample.volatility), sample.contract
    decay = float(found["vega"]) * sample.volatility / (2 * contract.years)
    carried = (
        (abs(contract.rate) + abs(contract.dividend_yield)) * abs(float(found["delta"])) * contract.underlying
    )
    return decay + carried + abs(contract.rate) * float(found["price"])


def _differs(law: str, sample: Sample, got: float, wanted: float, scale: float) -> Iterator[Finding]:
    allowed = SLACK * EPS * abs(scale)
    if not abs(got - wanted) <= allowed:
        yield Finding(law, sample, float(got), float(wanted), allowed)


LAWS: tuple[Callable[[Any, Sample], Iterator[Finding]], ...] = (
    prices_agree, parity, within_bounds, grows_with_volatility, comes_back, greeks_are_derivatives,
    higher_greeks_are_derivatives,
)  # fmt: skip
