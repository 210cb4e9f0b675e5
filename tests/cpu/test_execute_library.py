"""Library steps: the allow-list, views, fresh results that become buffers, and what does not fit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from execute_cases import at, built, call, kernel, number, problem, spec, tensor

from kernelwright.core.plan import Plan
from kernelwright.execute.bind import bind
from kernelwright.execute.bound import BoundLibrary
from kernelwright.execute.library import FRESH, OUT, LibraryCall
from kernelwright.execute.reports import PlanRefused
from kernelwright.execute.runner import Runner

HALVE_CPP = """#include <cstdint>
extern "C" void halve(const float *x, float *out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] / 2;
}
"""


def library(op: str, *inputs: Any, outputs: tuple[str, ...] = ("out",), **keywords: Any) -> dict[str, Any]:
    return {
        "kind": "library",
        "op": op,
        "inputs": list(inputs),
        "outputs": list(outputs),
        "keywords": keywords,
    }


def refused(buffers: list[Any], step: dict[str, Any]) -> str:
    bound = bind(Plan.model_validate({"buffers": buffers, "run": [step]}), {})
    (only,) = bound.run
    assert isinstance(only, BoundLibrary)
    with pytest.raises(PlanRefused) as caught:
        LibraryCall("run step 0", only, bound.buffers)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_product_with_a_transposed_weight_then_a_kernel() -> None:
    linear = problem(
        "linear",
        axes={"m": 6},
        inputs=(spec("x", 2, 3, 5),),
        weights=(spec("w", 7, 5), spec("b", 7)),
        outputs=(spec("out", 2, 3, 7),),
    )
    flat = {"buffer": "x", "shape": ["m", 5]}
    transposed = {"buffer": "w", "shape": [5, 7], "strides": [1, 5]}
    made = kernel(
        linear,
        HALVE_CPP,
        [
            tensor("x", "input", 2, 3, 5),
            tensor("w", "weight", 7, 5),
            tensor("b", "weight", 7),
            tensor("y", "scratch", 2, 3, 7),
            tensor("out", "output", 2, 3, 7),
        ],
        [
            library("aten.addmm.out", {"buffer": "b"}, flat, transposed, outputs=("y",), beta=1, alpha=1),
            call("halve", at("y"), at("out"), number(42)),
        ],
    )
    runner = Runner(made, built(made), linear, linear.axis_sizes)
    x, w, b = torch.randn(2, 3, 5), torch.randn(7, 5), torch.randn(7)
    runner.prepare({"w": w, "b": b})
    torch.testing.assert_close(runner.run([x])[0], F.linear(x, w, b) / 2)


@pytest.mark.parametrize("where", ["scratch", "output"])
def test_a_fresh_result_becomes_the_buffer(where: str) -> None:
    conv = problem(
        "conv",
        axes={"n": 2},
        inputs=(spec("x", "n", 3, 8, 8),),
        weights=(spec("w", 4, 3, 3, 3),),
        outputs=(spec("out", "n", 4, 6, 6),),
    )
    step = library(
        "aten.convolution.out",
        {"buffer": "x"}, {"buffer": "w"}, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
        outputs=("y" if where == "scratch" else "out",),
    )  # fmt: skip
    buffers = [
        tensor("x", "input", "n", 3, 8, 8), tensor("w", "weight", 4, 3, 3, 3),
        tensor("out", "output", "n", 4, 6, 6), tensor("y", "scratch", "n", 4, 6, 6),
    ]  # fmt: skip
    after = [{"kind": "copy", "source": "y", "destination": "out"}] if where == "scratch" else []
    made = kernel(conv, "", buffers, [step, *after])
    runner = Runner(made, built(made), conv, conv.axis_sizes)
    x, w = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
    runner.prepare({"w": w})
    out = runner.run([x], poison=True)[0]
    torch.testing.assert_close(out, F.conv2d(x, w))
    assert out.is_contiguous()


def test_a_fresh_result_over_what_was_written_is_copied() -> None:
    buffers = [tensor("x", "input", 4, 2), tensor("out", "output", 2, 4)]
    turned = {"buffer": "x", "shape": [2, 4], "strides": [1, 2]}
    steps = [{"kind": "memset", "buffer": "out"}, library("aten.clone.out", turned)]
    turn = problem("turn", axes={}, inputs=(spec("x", 4, 2),), outputs=(spec("out", 2, 4),))
    made = kernel(turn, "", buffers, steps)
    runner = Runner(made, built(made), turn, {})
    runner.prepare({})
    x = torch.randn(4, 2)
    assert torch.equal(runner.run([x])[0], x.T)


def test_several_outputs_lists_and_element_types() -> None:
    two = problem(
        "two",
        axes={},
        inputs=(spec("x", 3, 4),),
        outputs=(spec("out0", 3, 4), spec("out1", 3, 4, dtype="int64")),
    )
    buffers = [
        tensor("x", "input", 3, 4), tensor("out0", "output", 3, 4),
        tensor("out1", "output", 3, 4, dtype="int64"),
        tensor("both", "scratch", 6, 4), tensor("sums", "scratch", 6, 4, dtype="float64"),
    ]  # fmt: skip
    steps = [
        library("aten.cat.out", [{"buffer": "x"}, {"buffer": "x"}], 0, outputs=("both",)),
        library("aten.cumsum.out", {"buffer": "both"}, 1, outputs=("sums",), dtype={"dtype": "float64"}),
        library("aten.sort.values", {"buffer": "both", "shape": [3, 4]}, 1, True, outputs=("out0", "out1")),
    ]
    made = kernel(two, "", buffers, steps)
    runner = Runner(made, built(made), two, {})
    runner.prepare({})
    x = torch.randn(3, 4)
    values, indices = runner.run([x])
    expected = torch.sort(x, 1, True)
    assert torch.equal(values, expected.values) and torch.equal(indices, expected.indices)


def test_operations_off_the_list_and_arguments_that_do_not_fit() -> None:
    x, out = tensor("x", "input", 4, 4), tensor("out", "output", 4, 4)
    assert "'aten.mul.out' is not allowed" in refused([x, out], library("aten.mul.out", {"buffer": "x"}, 2))
    assert "did you mean" in refused([x, out], library("aten.mmm.out"))
    flat = {"buffer": "x", "shape": [2, 8]}
    assert "does not take these" in refused([x, out], library("aten.mm.out", {"buffer": "x"}, flat))
    assert "fills 1 buffers" in refused(
        [x, out], library("aten.mm.out", {"buffer": "x"}, {"buffer": "x"}, outputs=())
    )
    small = tensor("out", "output", 4, 3)
    assert "makes [4, 4]" in refused([x, small], library("aten.mm.out", {"buffer": "x"}, {"buffer": "x"}))
    double = tensor("out", "output", 4, 4, dtype="float64")
    assert "float64" in refused([x, double], library("aten.clone.out", {"buffer": "x"}))


@pytest.mark.parametrize("name", sorted(OUT | FRESH))
def test_each_allowed_operation_exists_and_its_group_is_right(name: str) -> None:
    """`FRESH` holds exactly those whose out-variant torch generates from the functional form."""
    _, packet, overload = name.split(".")
    found = getattr(getattr(torch.ops.aten, packet), overload)
    assert any(argument.is_out for argument in found._schema.arguments)
    if name in FRESH:
        assert hasattr(getattr(torch.ops.aten, packet), "default")
        assert not torch._C._dispatch_has_kernel_for_dispatch_key(found.name(), "CPU")
