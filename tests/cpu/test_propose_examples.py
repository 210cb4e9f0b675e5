"""Every example problem: its default kernel at any sizes of its domain, and golden text of the source."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import torch
from propose_cases import CPU

from kernelwright.core.expr import holds
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem, Workload
from kernelwright.execute.contract import axes_of
from kernelwright.execute.runner import Runner
from kernelwright.languages import build
from kernelwright.problems.axes import find_axes
from kernelwright.problems.describe import described
from kernelwright.problems.elsewhere import captured_at
from kernelwright.problems.load import open_origin
from kernelwright.problems.outline import outline
from kernelwright.problems.reference import Reference
from kernelwright.propose.proposals import Proposals

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "problems").glob("*.py"))
GOLDEN = ROOT / "tests" / "golden" / "cpp"
SMALL = {"batch": 3, "tokens": 37, "height": 9, "width": 11, "queries": 7, "keys": 65, "vocabulary": 1003}
FREE = {
    "batchnorm_relu": {"batch", "channels"},
    "bias_gelu_residual": {"tokens"},
    "column_sum_squares": {"tokens"},
    "conv_bias_relu_scale": {"batch", "in_channels", "out_channels"},
    "groupnorm_silu": {"batch"},
    "instancenorm": {"batch", "channels"},
    "layernorm": {"batch", "tokens"},
    "linear_gelu": {"tokens", "features", "hidden"},
    "log_softmax": {"tokens"},
    "rmsnorm_gelu": {"tokens"},
    "softmax": {"batch", "heads", "queries"},
    "swiglu": {"tokens", "features"},
}
"""Axes of each example that its kernels serve at any value."""


def opened(path: Path, sizes: dict[str, int], folder: Path) -> tuple[Problem, Proposals]:
    """The example with other constants, and its kernels; loaded without looking for workloads."""
    text = path.read_text()
    for name, size in sizes.items():
        text = re.sub(rf"^{name} = \d+$", f"{name} = {size}", text, flags=re.MULTILINE)
    (folder / path.name).write_text(text)
    origin = open_origin(folder / path.name, None, None)
    made = outline(origin, {})
    problem = Problem(
        name=origin.name,
        source=origin.text,
        normalized=origin.identity,
        entry=origin.entry,
        axes=find_axes(origin, made),
        mode=origin.mode,
    )
    if sizes:
        base = Workload(name="base", axes=problem.axis_sizes)
        problem = described(problem.model_copy(update={"workloads": (base,)}), origin, made)
    captured = captured_at(origin, problem.axis_sizes)
    assert captured is not None
    return problem, Proposals.open(problem, captured, CPU, partial(captured_at, origin))


def points(problem: Problem, free: set[str]) -> list[dict[str, int]]:
    """The base point; all free axes small, odd, and larger than the base; each alone at 1 and 2."""
    axes = problem.axis_sizes
    found = [{**axes, **dict.fromkeys(free, size)} for size in (2, 3, 7)]
    found += [{**axes, axis: size} for axis in sorted(free) for size in (1, 2)]
    found.append({**axes, **{axis: axes[axis] + 2 * at + 4 for at, axis in enumerate(sorted(free))}})
    return [axes, *found, {**axes, **dict.fromkeys(free, 1)}]


def as_precise_as_eager(kernel: Kernel, built: Build, problem: Problem, axes: dict[str, int]) -> None:
    """Run at these sizes and compare with float64, by eager's own error."""
    reference = Reference.open(problem, Workload(name="point", axes=axes), "cpu", weights_seed=1)
    wide = Reference.open(problem, Workload(name="point", axes=axes), "cpu", weights_seed=1)
    args = reference.draw(seed=2)
    weights = {name: tensor.clone() for name, tensor in reference.weights().items()}
    assert axes_of(problem, {**reference.inputs(args), **weights}) == axes
    runner = Runner(kernel, built, problem, axes)
    runner.prepare(weights)
    found, *mutated = runner.run(args)
    eager, *changed = reference.forward(args)
    assert isinstance(wide.module, torch.nn.Module)
    with torch.no_grad():
        exact = wide.module.double()(*[value.double() for value in args])
    assert (found - exact).norm() <= 2 * (eager - exact).norm() + 1e-6 * exact.norm()
    close(mutated, changed)


def close(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> None:
    for value, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(value, wanted, equal_nan=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_default_kernel_serves_any_value_of_its_free_axes(path: Path, tmp_path: Path) -> None:
    problem, proposals = opened(path, SMALL, tmp_path)
    kernel = proposals.kernel(proposals.space.default())
    free = {
        axis
        for axis, size in problem.axis_sizes.items()
        if holds(kernel.domain, {**problem.axis_sizes, axis: size + 1})
    }
    assert free == FREE[path.stem]
    built = build(kernel, CPU)
    assert built.status == "built", built.log
    for axes in points(problem, free):
        if holds(kernel.domain, axes):
            as_precise_as_eager(kernel, built, problem, axes)


@pytest.mark.parametrize("name", ["rmsnorm_gelu", "column_sum_squares", "batchnorm_relu", "swiglu"])
def test_generated_source_is_as_recorded(name: str, tmp_path: Path) -> None:
    """Set KERNELWRIGHT_GOLDEN=write to record; the difference is then reviewed."""
    _, proposals = opened(ROOT / "examples" / "problems" / f"{name}.py", {}, tmp_path)
    text = proposals.kernel(proposals.space.default()).sources[0].text
    entries = text[text.index('extern "C"') :]
    recorded = GOLDEN / f"{name}.cpp"
    if os.environ.get("KERNELWRIGHT_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        recorded.write_text(entries)
    assert entries == recorded.read_text()
