"""The way to a GPU without one: its kernels as loops on the CPU, behind the same Python.

What is not tested here: the launch, streams, and that NVRTC's arithmetic is this one (`tests/gpu` does).
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from kernelwright.core.dtypes import Dtype
from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.plan import BufferArg, Call, IntArg
from kernelwright.core.target import Target
from kernelwright.execute.launcher import HostModule
from kernelwright.languages import build
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing import arguments, device
from kernelwright.workloads.option_pricing.kernels import device_kernel
from kernelwright.workloads.option_pricing.kernels.results import RESULTS, level_of

PROGRAM = device._program
NUMBERS = {"evaluate": ("n", "scalars", "wanted", "model"), "implied": ("n", "scalars", "model")}
GPU = """
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#define __global__
#define __device__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(threads)
static thread_local struct {{ unsigned x; }} blockIdx, threadIdx;
static inline double __longlong_as_double(long long bits) {{ return std::bit_cast<double>(bits); }}
static inline long long __double_as_longlong(double value) {{ return std::bit_cast<long long>(value); }}
static inline void atomicAdd(unsigned long long *to, unsigned long long by) {{ *to += by; }}
static inline void atomicMax(unsigned long long *to, unsigned long long by) {{ *to = std::max(*to, by); }}
#include "{entry}.cu"
extern "C" void loop({parameters}) {{
    for (blockIdx.x = 0; std::int64_t(blockIdx.x) * BLOCK < n; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < BLOCK; ++threadIdx.x)
            {entry}({arguments});
}}
"""


RECIPROCAL = "guess = std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0 / x) >> 32 << 32);"
"""What the unit gives (PTX ISA, rcp.approx.ftz.f64): the upper half of the number, at least 20 bits."""


def as_loop(entry: str, dtype: Dtype, level: int) -> Kernel:
    """The kernel for a GPU with its grid as two loops."""
    kernel = device_kernel(entry, dtype, level)
    assert kernel.plan is not None
    names, numbers = [buffer.name for buffer in kernel.plan.buffers], NUMBERS[entry]
    parameters = [*(f"Real *{name}" for name in names[:-1]), "std::int64_t *faults",
                  *(f"std::int64_t {name}" for name in numbers)]  # fmt: skip
    given = ["(unsigned long long *)faults" if name == "faults" else name for name in (*names, *numbers)]
    text = GPU.format(entry=entry, parameters=", ".join(parameters), arguments=", ".join(given))
    call = Call(
        entry="loop", args=(*(BufferArg(buffer=name) for name in names), *(IntArg(value=n) for n in numbers))
    )
    given_by_unit = 'asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(x));'
    sources = [
        each.model_copy(update={"text": each.text.replace(given_by_unit, RECIPROCAL)})
        for each in kernel.sources
    ]
    return kernel.model_copy(update={
        "language": "cpp", "options": (), "plan": kernel.plan.model_copy(update={"run": (call,)}),
        "sources": (Source(path="loop.cpp", text=text), *sources),
    })  # fmt: skip


class Loop:
    """What `device` runs in the place of a launch."""

    def __init__(self, entry: str, dtype: Dtype, number: int, form: tuple[int, ...]) -> None:
        level = level_of(form[2]) if entry == "evaluate" else 0
        made = build(as_loop(entry, dtype, level), Target.parse("cpu"))
        assert made.artifact is not None, made.log
        self._call = c.CFUNCTYPE(None, c.c_void_p)(HostModule(made.artifact).entry("loop", 0, 1))
        self._form = form

    def run(self, pointers: Any, stream: int) -> None:
        c.memset(pointers[8], 0, 8 * 7)
        words = (c.c_uint64 * (9 + len(self._form)))(*[each or 0 for each in pointers], *self._form)
        start = c.addressof(words)
        self._call((c.c_void_p * len(words))(*range(start, start + 8 * len(words), 8)))


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors of the CPU pass for tensors of a GPU."""

    def is_there(value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    monkeypatch.setattr(device, "is_there", is_there)
    monkeypatch.setattr(device, "_program", Loop)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    assert arguments.on_device((torch.ones(1),))
    yield


def book(count: int) -> dict[str, Any]:
    rng = np.random.default_rng(count)
    return {
        "flag": np.where(rng.random(count) < 0.5, 1.0, -1.0), "underlying": rng.uniform(80, 120, count),
        "strike": rng.uniform(80, 120, count), "years": rng.uniform(0.05, 2, count),
        "rate": rng.uniform(-0.01, 0.08, count), "volatility": rng.uniform(0.1, 0.8, count),
        "dividend_yield": rng.uniform(0, 0.04, count),
    }  # fmt: skip


def tensors(given: dict[str, Any], dtype: Any = torch.float64) -> dict[str, Any]:
    return {name: torch.as_tensor(value).to(dtype) for name, value in given.items()}


@pytest.mark.parametrize("names", [("price",), RESULTS[:6], RESULTS, ("zomma", "delta")], ids=len)
def test_results_are_those_of_the_cpu(names: tuple[str, ...]) -> None:
    given = book(700)
    wanted, got = op.evaluate(names, **given), op.evaluate(names, **tensors(given))
    for name in names:
        assert isinstance(got[name], torch.Tensor)
        size = np.abs(wanted[name]).max()
        np.testing.assert_allclose(got[name].numpy(), wanted[name], rtol=1e-12, atol=1e-14 * size)


def test_volatilities_come_back() -> None:
    given = book(700)
    paid, vega = op.price(**given), op.vega(**given)
    volatility = given.pop("volatility")
    found = op.implied_volatility(torch.as_tensor(paid), **tensors(given))
    assert np.max(np.abs(found.numpy() - volatility) * vega) <= 8 * 2.0**-52 * 240


def test_types_follow_the_tensors() -> None:
    given = book(300)
    narrow = op.price(**tensors(given, torch.float32))
    assert narrow.dtype == torch.float32
    wanted = op.price(**{name: value.astype(np.float32) for name, value in given.items()})
    np.testing.assert_allclose(narrow.numpy(), wanted, rtol=2.0**-22)
    mixed = tensors(given, torch.float32) | {"strike": torch.as_tensor(given["strike"])}
    assert op.price(**mixed).dtype == torch.float64


def test_numbers_and_shapes() -> None:
    strikes = torch.linspace(80, 120, 41, dtype=torch.float64)
    wanted = op.price("p", 100.0, strikes.numpy(), 0.5, 0.03, 0.2)
    np.testing.assert_allclose(op.price("p", 100.0, strikes, 0.5, 0.03, 0.2).numpy(), wanted, rtol=1e-13)
    square = op.price("p", 100, strikes[:, None], torch.tensor([0.5, 1.0]).double(), 0.03, np.float64(0.2))
    assert square.shape == (41, 2)
    np.testing.assert_allclose(square[:, 0].numpy(), wanted, rtol=1e-13)
    assert op.price("c", 100.0, strikes[::2], 0.5, 0.03, 0.2).shape == (21,)
    assert op.price("c", 100.0, strikes[:0], 0.5, 0.03, 0.2).shape == (0,)
    assert op.price("c", 100.0, strikes[0], 0.5, 0.03, 0.2).shape == ()
    assert len(op.greeks("c", 100.0, strikes, 0.5, 0.03, 0.2)) == 6


def test_faults() -> None:
    prices = torch.full((3000,), 10.0, dtype=torch.float64)
    prices[5], prices[2000], prices[2999] = -1.0, -1.0, 1000.0
    given = ("c", 100.0, 100.0, 1.0, 0.0)
    with pytest.raises(UsageError, match=r"option 5 has a price below.*2 below intrinsic, 1 at or above"):
        op.implied_volatility(prices, *given)
    with pytest.warns(op.OptionWarning, match="option 5 has"):
        op.implied_volatility(prices, *given, on_error="warn")
    found = op.implied_volatility(prices, *given, on_error="ignore")
    assert torch.isnan(found).nonzero().flatten().tolist() == [5, 2000, 2999]
    assert op.implied_volatility(prices[10:100], *given).isfinite().all()
    prices[0] = torch.nan
    with pytest.raises(UsageError, match="option 0 is not an option"):
        op.implied_volatility(prices, *given)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"strike": np.full(3, 100.0)}, "ndarray was given beside tensors"),
        ({"flag": np.array(["c", "p", "c"])}, "ndarray was given beside tensors"),
        ({"flag": "x"}, "neither call nor put"),
        ({"strike": torch.full((4,), 100.0)}, "do not broadcast"),
        ({"strike": torch.full((3,), 100.0, requires_grad=True)}, "gradient"),
        ({"strike": torch.full((3,), 1j)}, "real numbers"),
        ({"strike": None}, "NoneType was given beside"),
        ({"strike": -1.0}, "not an option"),
        ({"flag": 0.0}, "not an option"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], words: str) -> None:
    given = tensors(book(3)) | changed
    with pytest.raises(UsageError, match=words) as caught:
        op.price(**given)
    assert "\n" not in str(caught.value)


def test_forms_of_calls_are_kept_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    def made(*key: Any) -> Any:
        return SimpleNamespace(close=lambda: closed.append(key))

    monkeypatch.setattr(device, "_programs", {})
    monkeypatch.setattr(device, "_made", made)
    monkeypatch.setattr(device, "MOST_PROGRAMS", 2)
    first, second = PROGRAM("a", 1), PROGRAM("a", 2)
    assert PROGRAM("a", 1) is first
    PROGRAM("a", 3)
    assert closed == [("a", 2)]
    assert PROGRAM("a", 1) is first and PROGRAM("a", 2) is not second
