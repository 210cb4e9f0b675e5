"""The vector math that C++ kernels include: errors over the whole range of floats, and special values."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path

import pytest
import torch

from kernelwright.propose.templates.base import resource
from kernelwright.propose.templates.cpp.text import HEADER

SHIM = """
#define KW_TRY(name) extern "C" void try_##name(const float *x, float *y, int64_t n) { \\
  kw::sweep<1>(0, n, 0, [&](auto lanes, int64_t j, auto) { \\
    kw::store(y + j, kw::name(kw::load(x + j, lanes)), lanes); }, [] {}); }
KW_TRY(exp) KW_TRY(erf) KW_TRY(tanh) KW_TRY(sigmoid) KW_TRY(log) KW_TRY(rsqrt) KW_TRY(sqrt)
"""
FLAGS = [
    "-O2",
    "-fopenmp",
    "-shared",
    "-fPIC",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-std=c++20",
]


@pytest.fixture(scope="module", params=["native", "x86-64-v3"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("math")
    text = "\n".join(resource(name) for name in sorted(HEADER)) + SHIM
    (folder / "math.cpp").write_text(text)
    command = [
        "g++",
        *FLAGS,
        f"-march={request.param}",
        "-o",
        str(folder / "math.so"),
        str(folder / "math.cpp"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "math.so"))


def apply(library: ctypes.CDLL, name: str, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    function = getattr(library, f"try_{name}")
    function(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int64(x.numel()))
    return y


def floats(low: float, high: float) -> torch.Tensor:
    """Every 1021st float, of both signs, that lies within the range."""
    bits = torch.arange(0, 0x7F800000, 1021, dtype=torch.int32)
    x = bits.view(torch.float32)
    x = torch.cat([x, -x])
    return x[(x >= low) & (x <= high)].contiguous()


@pytest.mark.parametrize(
    ("name", "low", "high", "ulps"),
    [
        ("exp", -87, 88.7, 1.0),
        ("erf", -1e30, 1e30, 2.5),
        ("tanh", -1e30, 1e30, 1.5),
        ("sigmoid", -85, 1e30, 2.6),
        ("log", 1e-45, 3e38, 1.0),
        ("sqrt", 0, 3e38, 0.51),
        ("rsqrt", 1e-37, 3e38, 1.5),
    ],
)
def test_errors_in_units_of_the_last_place(
    library: ctypes.CDLL, name: str, low: float, high: float, ulps: float
) -> None:
    x = floats(low, high)
    exact = getattr(torch, name)(x.double()) if name != "erf" else torch.special.erf(x.double())
    near = exact.abs().float()
    unit = torch.nextafter(near, torch.tensor(math.inf)).double() - near.double()
    error = ((apply(library, name, x).double() - exact).abs() / unit).max().item()
    assert error <= ulps


def test_special_values(library: ctypes.CDLL) -> None:
    inf, nan = math.inf, math.nan
    x = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1e-42, 200.0, -200.0])
    expected = {
        "exp": [nan, inf, 0, 1, 1, 1, inf, 0],
        "erf": [nan, 1, -1, 0, -0.0, 1.1284e-42, 1, -1],
        "tanh": [nan, 1, -1, 0, -0.0, 1e-42, 1, -1],
        "sigmoid": [nan, 1, 0, 0.5, 0.5, 0.5, 1, 0],
        "log": [nan, inf, nan, -inf, -inf, math.log(1e-42), math.log(200), nan],
    }
    for name, values in expected.items():
        torch.testing.assert_close(
            apply(library, name, x), torch.tensor(values), equal_nan=True, rtol=2e-3, atol=0
        )
