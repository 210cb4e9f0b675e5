"""Every scalar operation in the text of the CUDA templates means what torch's means, on the host.

A device has its own libm; its accuracy is the device test's. Here: which function, which arguments,
which conversions, and what happens to NaN, infinities, zeros and integers.
"""

from __future__ import annotations

import ctypes as c
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import cuda_on_host as host
import cuda_samples as samples
import pytest
import torch

from kernelwright.core.dtypes import Dtype
from kernelwright.graph.loops import POINTWISE
from kernelwright.propose import TEMPLATES

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -2.5,
    3.5,
    torch.inf,
    -torch.inf,
    torch.nan,
    1e-30,
    88.0,
    -104.0,
    7.25,
]
UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    name: getattr(torch, name)
    for name in (
        "neg", "abs", "exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal", "sin",
        "cos", "tanh", "sigmoid", "erf", "relu", "floor", "ceil", "round", "trunc", "sign", "logical_not",
        "isnan",
    )
}  # fmt: skip
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    name: getattr(torch, name)
    for name in (
        "add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmod", "remainder", "atan2",
        "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
    )
}  # fmt: skip
WHOLE = (
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "fmod",
    "remainder",
    "pow",
    "bitwise_and",
    "bitwise_or",
    "eq",
    "lt",
)
TRUTHS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isnan"})


def result_of(op: str, dtype: Dtype) -> Dtype:
    return "bool" if op in TRUTHS else dtype


def floats() -> tuple[torch.Tensor, torch.Tensor]:
    """Every pair of special values, then ordinary ones."""
    special = torch.tensor(SPECIAL)
    x, y = torch.meshgrid(special, special, indexing="ij")
    more = torch.randn(2, 95, generator=torch.Generator().manual_seed(0)) * 5
    return torch.cat([x.flatten(), more[0]]), torch.cat([y.flatten(), more[1]])


def integers() -> tuple[torch.Tensor, torch.Tensor]:
    x, y = torch.meshgrid(torch.arange(-9, 10), torch.tensor([-3, -2, -1, 1, 2, 3, 4]), indexing="ij")
    return x.flatten(), y.flatten()


CASES: list[tuple[str, str, int, Dtype, Dtype]] = [
    *((f"f{at}", op, 1, "float32", result_of(op, "float32")) for at, op in enumerate(UNARY)),
    *((f"g{at}", op, 2, "float32", result_of(op, "float32")) for at, op in enumerate(BINARY)),
    *((f"i{at}", op, 2, "int64", result_of(op, "int64")) for at, op in enumerate(WHOLE)),
    ("c0", "cast", 1, "float32", "bfloat16"),
    ("c1", "cast", 1, "float32", "float16"),
    ("c2", "cast", 1, "int64", "float32"),
    ("c3", "cast", 1, "int64", "uint8"),
    ("c4", "div", 2, "int64", "float32"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> c.CDLL:
    pointwise = TEMPLATES.get("cuda_pointwise")()
    emitted = []
    for entry, op, arguments, dtype, result in CASES:
        x, _ = floats() if dtype == "float32" else integers()
        region = samples.scalar(op, arguments, dtype, result, x.numel())
        choice = pointwise.space(region).default().but(threads=32, unroll=1)
        emitted.append(pointwise.emit(region, choice, entry))
    return host.build(emitted, tmp_path_factory.mktemp("math"))


@pytest.mark.parametrize(
    ("entry", "op", "arguments", "dtype", "result"),
    CASES,
    ids=[f"{case[1]}-{case[3]}-{case[4]}" for case in CASES],
)
def test_as_torch_means_it(
    library: c.CDLL, entry: str, op: str, arguments: int, dtype: Dtype, result: Dtype
) -> None:
    x, y = floats() if dtype == "float32" else integers()
    region = samples.scalar(op, arguments, dtype, result, x.numel())
    pointwise = TEMPLATES.get("cuda_pointwise")()
    choice = pointwise.space(region).default().but(threads=32, unroll=1)
    memory = host.Memory()
    memory.add("x", x)
    memory.add("y", y)
    memory.add("out", torch.zeros(x.numel(), dtype=getattr(torch, result)))
    host.run(library, pointwise.emit(region, choice, entry), memory, {}, 0)
    if op == "cast":
        expected = x.to(getattr(torch, result))
    elif dtype == "int64" and op == "pow":
        expected, keep = torch.pow(x, y.clamp(min=0)), y >= 0
        assert torch.equal(memory.get("out")[keep], expected[keep])
        return
    else:
        function = UNARY.get(op) or BINARY.get(op) or getattr(torch, op)
        expected = function(x) if arguments == 1 else function(x, y)
    torch.testing.assert_close(
        memory.get("out"), expected.to(getattr(torch, result)), rtol=2e-6, atol=1e-38, equal_nan=True
    )


def test_every_operation_of_the_loop_form_is_tried() -> None:
    assert {case[1] for case in CASES} | {"where"} >= POINTWISE


def test_where_takes_the_branch_and_nothing_else(tmp_path: Path) -> None:
    """The branch not taken may be NaN."""
    s = samples.Sketch((4,))
    x = s.load("x")
    positive = s.apply("gt", x, s.const(0.0), dtype="bool")
    s.store("out", s.apply("where", positive, s.apply("log", x), s.const(-1.0)))
    pointwise = TEMPLATES.get("cuda_pointwise")()
    region = s.region("where")
    emitted = pointwise.emit(region, pointwise.space(region).default(), "where")
    memory = host.Memory()
    memory.add("x", torch.tensor([1.0, -1.0, torch.e, torch.nan]))
    memory.add("out", torch.zeros(4))
    host.run(host.build([emitted], tmp_path), emitted, memory, {}, 0)
    torch.testing.assert_close(memory.get("out"), torch.tensor([0.0, -1.0, 1.0, -1.0]))


def test_a_rows_divisor_divides_as_division_does(tmp_path: Path) -> None:
    """Quotients by a divisor that serves a row: bit for bit, or next to it for very few."""
    header = (files("kernelwright.propose.templates") / "cuda/math.cuh").read_text()
    library = host.build_text(
        f'#include "cuda_on_host.h"\n{header}\n'
        'extern "C" void divide(const float* x, float y, float* out, long n) {\n'
        "  auto d = kw_divide_by(y);\n"
        "  for (long i = 0; i < n; ++i) out[i] = kw_divided(x[i], d);\n}\n",
        tmp_path,
    )
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(20000, generator=generator) * torch.exp2(torch.randint(-60, 60, (20000,)))
    x = torch.cat([x, torch.tensor(SPECIAL), torch.tensor([3e38, 1e-38, 1e-44, -1e-44])])
    for y in [*torch.randn(40, generator=generator).tolist(), *SPECIAL, 3e38, 1e-38, 1e-44, 1.9999999]:
        out = torch.empty_like(x)
        library.divide(c.c_void_p(x.data_ptr()), c.c_float(y), c.c_void_p(out.data_ptr()), c.c_long(len(x)))
        expected = x / torch.tensor(y, dtype=torch.float32)
        torch.testing.assert_close(out, expected, rtol=2e-7, atol=1e-44, equal_nan=True)
        differ = (out != expected) & ~(out.isnan() & expected.isnan())
        assert differ.float().mean() < 1e-3
