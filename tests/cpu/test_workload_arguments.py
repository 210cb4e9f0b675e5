"""Arguments of the option pricing pack: shapes, types, containers, flags, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis.extra import numpy as stn

from kernelwright.core.errors import UsageError
from kernelwright.workloads import option_pricing as op

ARGUMENTS = ("c", 100.0, 105.0, 0.5, 0.03, 0.2)


def priced(**changed: Any) -> Any:
    names = ("flag", "underlying", "strike", "years", "rate", "volatility")
    return op.price(**dict(zip(names, ARGUMENTS, strict=True)) | changed)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(stn.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=5))
def test_broadcasts_as_numpy_does(shapes: Any) -> None:
    spot, strike, sigma = (
        np.linspace(low, high, int(np.prod(shape))).reshape(shape)
        for shape, (low, high) in zip(shapes.input_shapes, ((80, 120), (90, 110), (0.1, 0.6)), strict=True)
    )
    got = np.asarray(priced(underlying=spot, strike=strike, volatility=sigma))
    assert got.shape == shapes.result_shape
    each = np.vectorize(
        lambda s, k, v: priced(underlying=float(s), strike=float(k), volatility=float(v)), otypes=[float]
    )
    np.testing.assert_array_equal(got, each(spot, strike, sigma))


def test_scalars_in_scalars_out() -> None:
    assert type(priced()) is float
    assert type(priced(underlying=100, strike=105)) is float
    assert priced(underlying=100, strike=105) == priced()
    assert priced(volatility=np.array(0.2)) == priced(volatility=np.float64(0.2)) == priced()
    assert all(type(value) is float for value in op.greeks(*ARGUMENTS))


@pytest.mark.parametrize("count", [3, 700])
def test_kind_is_kept(count: int) -> None:
    strikes = np.linspace(90, 110, count)
    assert priced(strike=strikes).dtype == np.float64
    assert priced(strike=strikes.astype(np.float32)).dtype == np.float32
    assert priced(strike=strikes.astype(np.float32), volatility=np.full(count, 0.2)).dtype == np.float64
    assert priced(strike=np.arange(90, 90 + count)).dtype == np.float64
    np.testing.assert_allclose(priced(strike=strikes.astype(np.float32)), priced(strike=strikes), rtol=1e-4)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int16", "int64", "python"])
@pytest.mark.parametrize("scalar", [True, False])
def test_numbers_widen_as_numpy_has_it(kind: str, scalar: bool) -> None:
    strikes = np.array([90.0, 100.0], np.float32)
    spot: Any = 100.0 if kind == "python" else np.array([100.0, 100.0], kind)
    spot = spot if kind == "python" or not scalar else spot[0]
    for flag in ("c", np.array(["c", "p"]), np.array([1, -1])):
        assert priced(flag=flag, underlying=spot, strike=strikes).dtype == (spot + strikes).dtype


def test_no_digit_of_a_wide_scalar_is_dropped() -> None:
    spot, strike = np.float64(100.123456789), np.float32(100)
    assert priced(underlying=spot, strike=strike) == priced(underlying=100.123456789, strike=100.0)
    assert priced(underlying=spot, strike=np.array([strike]))[0] == priced(
        underlying=100.123456789, strike=100.0
    )


def test_strides_and_order_do_not_matter() -> None:
    strikes = np.linspace(90, 110, 2000)
    wanted = priced(strike=strikes)
    np.testing.assert_array_equal(priced(strike=np.repeat(strikes, 2)[::2]), wanted)
    np.testing.assert_array_equal(priced(strike=strikes[::-1])[::-1], wanted)
    square = strikes.reshape(40, 50)
    np.testing.assert_array_equal(priced(strike=np.asfortranarray(square)), wanted.reshape(40, 50))


def test_results_are_the_callers_own() -> None:
    first = priced(strike=np.array([90.0, 100.0]))
    kept = first.copy()
    priced(strike=np.array([100.0, 110.0]))
    np.testing.assert_array_equal(first, kept)


def test_empty() -> None:
    with pytest.raises(UsageError):
        priced(underlying=-1.0)
    assert priced(strike=np.empty(0)).shape == (0,)
    assert op.implied_volatility(np.empty((0, 3)), "c", 1.0, 1.0, 1.0, 0.0).shape == (0, 3)


def test_flags() -> None:
    strikes = np.array([95.0, 105.0, 105.0])
    wanted = [priced(flag=flag, strike=strike) for flag, strike in zip("cpc", strikes.tolist(), strict=True)]
    for flags in (["c", "p", "c"], np.array(["c", "p", "c"], object), [1, -1, 1], np.array([1.0, -1.0, 1.0])):
        np.testing.assert_array_equal(priced(flag=flags, strike=strikes), wanted)
    for flag in ("call", "C", "", ["c", "x"], np.array(["c", "pp"]), [None, "c"]):
        with pytest.raises(UsageError, match="neither call nor put"):
            priced(flag=flag)
    with pytest.raises(UsageError, match="not an option"):
        priced(flag=0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"strike": "105"}, "real numbers"),
        ({"strike": np.array([1j])}, "real numbers"),
        ({"strike": [None]}, "real numbers"),
        ({"strike": np.ones(3), "years": np.ones(4)}, "do not broadcast"),
        ({"model": "bachelier"}, "allowed: black"),
        ({"model": "black", "dividend_yield": 0.01}, "no dividend yield"),
        ({"strike": np.ma.array([90.0, 100.0], mask=[0, 1])}, "masked"),
        ({"flag": np.ma.array(["c", "p"], mask=[0, 1])}, "masked"),
        ({"strike": [[90.0], [90.0, 100.0]]}, "different lengths"),
        ({"flag": [["c"], ["c", "p"]]}, "different lengths"),
        ({"strike": 10**400}, "300 digits"),
        ({"strike": -(10**400), "years": np.ones(2, np.float32)}, "300 digits"),
        ({"strike": [10**400]}, "real numbers"),
        ({"flag": 10**400}, "300 digits"),
        ({"strike": torch.ones(2, dtype=torch.bfloat16)}, "bfloat16"),
        ({"flag": torch.ones(2, dtype=torch.bfloat16)}, "bfloat16"),
        ({"strike": torch.ones(2).to_sparse()}, "dense"),
        ({"strike": torch.ones(2, dtype=torch.complex64).conj()}, "real numbers"),
        ({"on_error": "shout"}, "on_error"),
        ({"strike": -1.0}, "not an option"),
        ({"volatility": -0.1}, "not an option"),
        ({"years": float("nan")}, "not an option"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        priced(**changed)
    assert "\n" not in str(caught.value)


def test_torch_tensors_come_back_as_tensors() -> None:
    strikes = torch.linspace(90, 110, 5, dtype=torch.float64)
    got = priced(strike=strikes)
    assert isinstance(got, torch.Tensor) and got.dtype == torch.float64
    np.testing.assert_array_equal(got.numpy(), priced(strike=strikes.numpy()))
    with pytest.raises(UsageError, match="gradient"):
        priced(strike=strikes.requires_grad_())


def test_series_come_back_as_series() -> None:
    pandas = pytest.importorskip("pandas")
    strikes = pandas.Series([90.0, 100.0], index=["a", "b"])
    got = priced(strike=strikes)
    assert list(got.index) == ["a", "b"] and got["b"] == priced(strike=100.0)
    with pytest.raises(UsageError, match="index"):
        priced(strike=strikes, years=pandas.Series([1.0, 1.0], index=["b", "a"]))


@pytest.mark.parametrize("years", [np.ones(2), np.ones((2, 1)), np.ones((3, 2, 1)), np.ones(4)])
@pytest.mark.parametrize("count", [1, 2])
def test_a_series_goes_with_what_it_can_index(years: Any, count: int) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(np.full(count, 90.0))
    if years.shape == (count,):
        assert priced(strike=series, years=years).index.equals(series.index)
        return
    for changed in (
        {"strike": series, "years": years},
        {"flag": pandas.Series(["c"] * count), "years": years},
    ):
        with pytest.raises(UsageError, match=r"a Series of|do not broadcast"):
            priced(**changed)


def test_tensors_that_are_views_with_a_sign() -> None:
    view = torch.view_as_complex(torch.tensor([[1.0, -90.0], [1.0, -100.0]], dtype=torch.float64)).conj().imag
    assert view.is_neg()
    np.testing.assert_array_equal(priced(strike=view).numpy(), priced(strike=np.array([90.0, 100.0])))


def test_threads_do_not_meet() -> None:
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number] = [priced(strike=90.0 + number) for _ in range(200)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(set(found[number]) == {priced(strike=90.0 + number)} for number in range(4))


def test_flags_of_the_other_byte_order() -> None:
    flags = np.array(["c", "p"]).astype(">U1")
    np.testing.assert_array_equal(priced(flag=flags), [priced(flag="c"), priced(flag="p")])
    for policy in ("raise", "warn", "ignore"):
        with pytest.raises(UsageError, match="flag 'é' is neither"):
            priced(flag=np.array(["c", "é"]), on_error=policy)
        with pytest.raises(UsageError, match="flag 'x' is neither"):
            priced(flag=np.array(["c", "x"]), on_error=policy)
