"""Running plans in this process: right answers, fresh outputs, and refusals outside the contract."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from execute_cases import (
    RELU,
    RELU_BUFFERS,
    RELU_CPP,
    at,
    built,
    call,
    kernel,
    number,
    problem,
    relu_kernel,
    spec,
    tensor,
)

from kernelwright.execute.reports import KernelFault, KernelRefused, PlanRefused
from kernelwright.execute.runner import Runner, runner_for

SOFTMAX = problem(
    "softmax",
    axes={"rows": 5, "cols": 33},
    inputs=(spec("x", "rows", "cols"),),
    outputs=(spec("out", "rows", "cols"),),
)
SOFTMAX_CPP = """#include <cmath>
#include <cstdint>
extern "C" void row_max(const float *x, float *top, std::int64_t rows, std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r) {
        top[r] = x[r * cols];
        for (std::int64_t c = 1; c < cols; ++c) top[r] = std::fmax(top[r], x[r * cols + c]);
    }
}
extern "C" void normalize(const float *x, const float *top, float *out, std::int64_t rows,
                          std::int64_t cols) {
    for (std::int64_t r = 0; r < rows; ++r, x += cols, out += cols) {
        double sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) sum += std::exp(double(x[c]) - top[r]);
        for (std::int64_t c = 0; c < cols; ++c) out[c] = std::exp(double(x[c]) - top[r]) / sum;
    }
}
"""
AFFINE = problem(
    "affine", axes={"n": 64}, inputs=(spec("x", "n"),), outputs=(spec("out", "n"),), weights=(spec("w", "n"),)
)
AFFINE_CPP = """#include <cstdint>
extern "C" void square(const float *w, float *p, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) p[i] = w[i] * w[i];
}
extern "C" void times(const float *x, const float *p, float *out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * p[i];
}
"""


def runner_of(made: Any, of: Any, axes: dict[str, int] | None = None) -> Runner:
    return Runner(made, built(made), of, axes or of.axis_sizes)


@pytest.fixture(scope="module")
def relu() -> Runner:
    runner = runner_of(relu_kernel(), RELU)
    runner.prepare({})
    return runner


def test_relu(relu: Runner) -> None:
    x = torch.randn(1000)
    (out,) = relu.run([x])
    assert torch.equal(out, torch.relu(x))
    assert out.data_ptr() % 64 == 0


def test_outputs_are_new_at_each_call(relu: Runner) -> None:
    first, second = torch.randn(1000), torch.randn(1000)
    (held,) = relu.run([first])
    relu.run([second])
    assert torch.equal(held, torch.relu(first))


def test_inputs_that_are_not_contiguous_are_copied(relu: Runner) -> None:
    wide = torch.randn(1000, 2)
    (out,) = relu.run([wide[:, 1]])
    assert torch.equal(out, torch.relu(wide[:, 1]))


def test_misaligned_inputs_are_read_where_they_are(relu: Runner) -> None:
    long = torch.randn(1001)
    (out,) = relu.run([long[1:]])
    assert torch.equal(out, torch.relu(long[1:]))


def test_poison_shows_what_was_not_written() -> None:
    skips = RELU_CPP.replace("i < n; ++i", "i < n - 1; ++i")
    runner = runner_of(relu_kernel(skips), RELU)
    runner.prepare({})
    (out,) = runner.run([torch.ones(1000)], poison=True)
    assert out[-1].isnan() and not out[:-1].isnan().any()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([torch.zeros(999)], "shape [999]"),
        ([torch.zeros(1000, dtype=torch.float64)], "dtype torch.float64"),
        ([torch.zeros(1000, device="meta")], "on meta"),
        ([torch.zeros(1000).to_sparse()], "sparse"),
        ([], "0 tensors"),
        ([torch.zeros(1000), torch.zeros(1000)], "2 tensors"),
    ],
)
def test_inputs_outside_the_contract_are_refused(relu: Runner, given: list[Any], expected: str) -> None:
    with pytest.raises(KernelRefused, match=expected.replace("[", r"\[").replace("]", r"\]")):
        relu.run(given)


def test_axes_are_read_off_shapes_and_the_domain_holds() -> None:
    made = relu_kernel(domain="n % 8 == 0")
    runner = runner_for(made, built(made), RELU, [torch.zeros(16)])
    runner.prepare({})
    assert runner.axes == {"n": 16}
    assert runner.run([torch.ones(16)])[0].sum() == 16
    with pytest.raises(KernelRefused, match="outside the kernel's domain"):
        runner_for(made, built(made), RELU, [torch.zeros(17)])


def test_axes_of_a_product_of_sizes() -> None:
    shaped = problem("r", axes={"n": 4}, inputs=(spec("x", "n * 6 + 2"),), outputs=(spec("out", "n"),))
    from kernelwright.execute.contract import axes_of

    assert axes_of(shaped, {"x": torch.zeros(32)}) == {"n": 5}
    with pytest.raises(KernelRefused):
        axes_of(shaped, {"x": torch.zeros(33)})


def test_empty_tensors_need_no_kernel() -> None:
    traps = 'extern "C" void relu(const float *, float *, long) { __builtin_trap(); }'
    runner = runner_of(relu_kernel(traps, domain=""), RELU, {"n": 0})
    runner.prepare({})
    assert runner.run([torch.zeros(0)])[0].shape == (0,)


def test_two_steps_with_scratch() -> None:
    sizes = (number("rows"), number("cols"))
    made = kernel(
        SOFTMAX,
        SOFTMAX_CPP,
        [
            tensor("x", "input", "rows", "cols"),
            tensor("out", "output", "rows", "cols"),
            tensor("top", "scratch", "rows"),
        ],
        [
            call("row_max", at("x"), at("top"), *sizes),
            call("normalize", at("x"), at("top"), at("out"), *sizes),
        ],
    )
    runner = runner_of(made, SOFTMAX)
    runner.prepare({})
    x = torch.randn(5, 33) * 10
    torch.testing.assert_close(runner.run([x])[0], torch.softmax(x, -1))


def affine() -> Any:
    buffers = [
        tensor("x", "input", "n"),
        tensor("w", "weight", "n"),
        tensor("out", "output", "n"),
        tensor("p", "prepared", "n"),
    ]
    return kernel(
        AFFINE,
        AFFINE_CPP,
        buffers,
        [call("times", at("x"), at("p"), at("out"), number("n"))],
        prepare=[call("square", at("w"), at("p"), number("n"))],
    )


def test_prepare_runs_when_it_is_asked_to() -> None:
    runner = runner_of(affine(), AFFINE)
    x, w = torch.randn(64), torch.randn(64)
    with pytest.raises(KernelRefused, match="prepare"):
        runner.run([x])
    assert runner.prepare({"w": w}) > 0
    assert torch.equal(runner.run([x])[0], x * (w * w))
    other = torch.randn(64)
    runner.prepare({"w": other})
    assert torch.equal(runner.run([x])[0], x * (other * other))
    with pytest.raises(KernelRefused, match="'w' is missing"):
        runner.prepare({})


def test_steps_repeat_over_an_axis() -> None:
    row = call("relu", at("x", "r * cols"), at("out", "r * cols"), number("cols"))
    made = kernel(
        SOFTMAX,
        RELU_CPP,
        [tensor("x", "input", "rows", "cols"), tensor("out", "output", "rows", "cols")],
        [{"kind": "repeat", "index": "r", "count": "rows", "steps": [row]}],
    )
    runner = runner_of(made, SOFTMAX)
    runner.prepare({})
    x = torch.randn(5, 33)
    assert torch.equal(runner.run([x])[0], torch.relu(x))


def test_memset_and_copy_without_any_source() -> None:
    made = kernel(
        RELU,
        "",
        RELU_BUFFERS,
        [{"kind": "memset", "buffer": "out"}, {"kind": "copy", "source": "x", "destination": "out"}],
    )
    runner = runner_of(made, RELU)
    runner.prepare({})
    x = torch.randn(1000)
    assert torch.equal(runner.run([x])[0], x)


def test_a_mutated_input_is_changed_in_place() -> None:
    counted = problem(
        "count",
        axes={"n": 8},
        inputs=(spec("x", "n"), spec("seen", "n")),
        outputs=(spec("out", "n"),),
        mutated=("seen",),
    )
    made = kernel(
        counted,
        RELU_CPP,
        [tensor("x", "input", "n"), tensor("seen", "mutated", "n"), tensor("out", "output", "n")],
        [call("relu", at("x"), at("out"), number("n")), call("relu", at("x"), at("seen"), number("n"))],
    )
    runner = runner_of(made, counted)
    runner.prepare({})
    x, seen = torch.randn(8), torch.zeros(8)
    out, after = runner.run([x, seen])
    assert after.data_ptr() == seen.data_ptr()
    assert torch.equal(seen, torch.relu(x)) and torch.equal(out, seen)
    with pytest.raises(KernelRefused, match="shares memory"):
        runner.run([x, x])
    with pytest.raises(KernelRefused, match="contiguous"):
        runner.run([x, torch.zeros(16)[::2]])


def test_a_plan_for_another_problem_is_refused() -> None:
    wrong_dtype = [tensor("x", "input", "n", dtype="float64"), RELU_BUFFERS[1]]
    wrong_name = [tensor("y", "input", "n"), RELU_BUFFERS[1]]
    wrong_shape = [tensor("x", "input", "n + 1"), RELU_BUFFERS[1]]
    for buffers, expected in ((wrong_dtype, "float64"), (wrong_name, "'y'"), (wrong_shape, "1001")):
        made = kernel(RELU, RELU_CPP, buffers, [{"kind": "memset", "buffer": "out"}])
        with pytest.raises(PlanRefused, match=expected):
            Runner(made, built(relu_kernel()), RELU, RELU.axis_sizes)
    with pytest.raises(PlanRefused, match="does not give 'out'"):
        Runner(kernel(RELU, "", RELU_BUFFERS[:1], []), built(relu_kernel()), RELU, RELU.axis_sizes)
    with pytest.raises(PlanRefused, match="touches 'out'"):
        Runner(kernel(RELU, "", RELU_BUFFERS, []), built(relu_kernel()), RELU, RELU.axis_sizes)


def test_a_build_without_the_entry_is_a_fault_of_the_kernel() -> None:
    made = kernel(RELU, RELU_CPP, RELU_BUFFERS, [call("gone", at("x"), at("out"), number("n"))])
    with pytest.raises(KernelFault, match="no entry 'gone'"):
        Runner(made, built(relu_kernel()), RELU, RELU.axis_sizes)
    broken = built(relu_kernel()).model_copy(update={"artifact": "/nowhere/kernel.so"})
    with pytest.raises(KernelFault, match="does not load"):
        Runner(relu_kernel(), broken, RELU, RELU.axis_sizes)


def test_a_device_plan_needs_a_device() -> None:
    step = {"kind": "launch", "entry": "f", "grid": [1, 1, 1], "block": [1, 1, 1], "args": [at("out")]}
    with pytest.raises(PlanRefused, match="launches device entries"):
        Runner(kernel(RELU, "", RELU_BUFFERS, [step]), built(relu_kernel()), RELU, RELU.axis_sizes)
