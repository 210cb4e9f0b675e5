"""Greeks of second and third order: derivatives in 50 digits, limits, and any of them in one pass."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kernelwright.core.errors import UsageError
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import reference
from kernelwright.workloads.option_pricing.kernels import evaluate_kernel
from kernelwright.workloads.option_pricing.kernels.results import FIRST, RESULTS, SECOND, header, wanted
from kernelwright.workloads.option_pricing.validator import higher_greeks_are_derivatives as LAW
from kernelwright.workloads.option_pricing.validator import samples

OPTION = ("c", 100.0, 105.0, 0.7, 0.03, 0.25, 0.01)


def test_each_is_the_derivative_in_fifty_digits() -> None:
    assert [found for sample in samples(60, seed=21) for found in LAW(op, sample)] == []


@pytest.mark.parametrize("name", SECOND)
def test_the_law_finds_what_is_wrong(name: str) -> None:
    def wrong(*args: Any, **kwargs: Any) -> op.SecondOrder:
        found = op.second_order(*args, **kwargs)
        return found._replace(**{name: getattr(found, name) * (1 + 1e-9)})

    library = SimpleNamespace(second_order=wrong)
    assert {found.law for sample in samples(8, seed=21) for found in LAW(library, sample)} == {name}


def test_the_reference_is_the_textbook() -> None:
    """Vanna is -n(d1) d2 / sigma by the discounted spot, and volga vega d1 d2 / sigma (Haug 2007, 2.2)."""
    _, spot, strike, years, rate, sigma, dividend = OPTION
    option = reference.Contract(1.0, spot, strike, years, rate, dividend)
    s = sigma * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate - dividend) * years) / s + s / 2
    d2, density = d1 - s, math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
    factor = math.exp(-dividend * years)
    true = reference.second_order(option, sigma)
    assert float(true["vanna"]) == pytest.approx(-factor * density * d2 / sigma, rel=1e-13)
    vega = spot * factor * density * math.sqrt(years)
    assert float(true["volga"]) == pytest.approx(vega * d1 * d2 / sigma, rel=1e-12)


def test_call_and_put_share_all_but_charm() -> None:
    call, put = (op.second_order(flag, *OPTION[1:]) for flag in "cp")
    for name in SECOND:
        same = getattr(call, name) == getattr(put, name)
        assert same == (name != "charm"), name


@pytest.mark.parametrize("count", [1, 9, 3000, 20_000])
def test_any_of_them_in_one_pass(count: int) -> None:
    strikes = np.linspace(70, 140, count)
    contract = ("p", 100.0, strikes, *OPTION[3:])
    all_of_them = {**op.greeks(*contract)._asdict(), **op.second_order(*contract)._asdict()}
    assert tuple(all_of_them) == RESULTS
    for names in (("ultima",), ("zomma", "price"), ("vega", "vanna", "delta"), RESULTS):
        got = op.evaluate(names, *contract)
        assert tuple(got) == names
        for name in names:
            # Each set of results is compiled for itself, and may round its last sums otherwise.
            np.testing.assert_allclose(got[name], all_of_them[name], rtol=1e-13, atol=1e-300)


def test_nothing_is_asked_for_in_vain() -> None:
    for names in ((), ("vomma",), ("price", "nu")):
        with pytest.raises(UsageError, match="give one or more of price, delta"):
            op.evaluate(names, *OPTION)
    with pytest.raises(UsageError, match="not an option"):
        op.second_order("c", -1.0, *OPTION[2:])


def test_limits_are_numbers() -> None:
    for strike in (90.0, 100.0, 110.0):
        for years, sigma in ((0.0, 0.2), (1.0, 0.0), (1.0, 1e-9), (1e-12, 0.2), (30.0, 40.0)):
            found = op.second_order("c", 100.0, strike, years, 0.0, sigma)
            assert not any(math.isnan(value) for value in found), (strike, years, sigma)
            if strike != 100.0 and years * sigma < 0.1:
                assert all(value == 0.0 for value in found)


def test_there_is_one_list_of_results() -> None:
    text = next(source.text for source in evaluate_kernel().sources if source.path == "results.h")
    assert text == header() and f"FIRST_ORDER = {len(FIRST)};" in text
    assert op.Greeks._fields == FIRST and op.SecondOrder._fields == SECOND
    assert [wanted((name,)) for name in RESULTS] == [1 << number for number in range(len(RESULTS))]
