"""Kernels at sizes other than those they were made at: every template, small and large, odd and one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cuda_on_host as host
import pytest
import torch
import torch.nn.functional as F
from propose_cases import CPU, traced
from torch import Tensor

from kernelwright.core.expr import holds
from kernelwright.core.problem import Axis, Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.execute.runner import runner_for
from kernelwright.graph.capture import Captured
from kernelwright.graph.loops import Load
from kernelwright.languages import build
from kernelwright.propose.proposals import Proposals
from kernelwright.propose.templates.base import Emitted

Shapes = Callable[[Mapping[str, int]], Sequence[tuple[int, ...]]]


def proposals(function: Any, shapes: Shapes, axes: dict[str, int], target: Target) -> Proposals:
    """Kernels of a function of tensors `x0`, `x1`, ... whose shapes follow the axes."""

    def captured(point: Mapping[str, int]) -> Captured | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return traced(function, [torch.randn(shape) for shape in shapes(point)])

    base = captured(axes)
    assert base is not None
    problem = Problem(
        name="case",
        source="",
        normalized="",
        entry=Entry(kind="object", location=""),
        axes=tuple(Axis(name=name, size=size) for name, size in axes.items()),
    )
    found = Proposals.open(problem, base, target, captured)
    buffers = found.partition.buffers
    specs = {
        role: tuple(
            TensorSpec(name=each.name, dtype=each.dtype, shape=each.shape)
            for each in buffers
            if each.role == role
        )
        for role in ("input", "output")
    }
    outputs = sorted(specs["output"], key=lambda spec: spec.name)
    inputs = sorted(specs["input"], key=lambda spec: spec.name)
    sized = problem.model_copy(update={"inputs": tuple(inputs), "outputs": tuple(outputs)})
    return Proposals(sized, found.partition, target, found.templates)


def everything(x: Tensor, y: Tensor, scale: Tensor) -> tuple[Tensor, ...]:
    """One nest for each C++ template, and layouts that make strides depend on a free size."""
    return (
        torch.softmax(x, -1),
        torch.softmax(y, 2) * 2,
        (x * scale).sum(0),
        (torch.relu(y) + 1).half(),
        y.transpose(0, 1) + 1,
        torch.log_softmax(x.flatten(0, 1), 0),
        x.var((0, 2), keepdim=True) + 1,
    )


def everything_shapes(axes: Mapping[str, int]) -> list[tuple[int, ...]]:
    b, t = axes["batch"], axes["tokens"]
    return [(b, t, 65), (b, t, 9, 12), (65,)]


SIZES = [(1, 1), (1, 7), (2, 1), (3, 5), (5, 6), (7, 33), (30, 21)]


def test_cpp_templates_at_other_sizes() -> None:
    found = proposals(everything, everything_shapes, {"batch": 5, "tokens": 6}, CPU)
    kernel = found.kernel(found.space.default())
    assert kernel.domain == "(batch >= 1 and tokens >= 1)"
    built = build(kernel, CPU)
    assert built.status == "built", built.log
    for batch, tokens in SIZES:
        args = [torch.randn(shape) for shape in everything_shapes({"batch": batch, "tokens": tokens})]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = everything(*args)
        results = runner_for(kernel, built, found.problem, args).run(args, poison=True)
        for value, wanted in zip(results, expected, strict=True):
            torch.testing.assert_close(value, wanted, equal_nan=True, rtol=2e-5, atol=2e-6)


def split(x: Tensor) -> Tensor:
    """Few rows of many elements, over a free axis between the reduced ones."""
    return x - x.mean((1, 2), keepdim=True)


@pytest.mark.parametrize("template", ["cpp_split", "cpp_row"])
def test_shared_rows_at_other_sizes(template: str) -> None:
    found = proposals(split, lambda axes: [(axes["batch"], 3, 16400)], {"batch": 2}, CPU)
    choice = found.space.complete({"r0.template": template})
    kernel = found.kernel(choice)
    built = build(kernel, CPU)
    assert kernel.domain == "(batch >= 1)"
    assert "n_batch" in kernel.sources[0].text
    for batch in (1, 2, 3, 70):
        args = [torch.randn(batch, 3, 16400)]
        (value,) = runner_for(kernel, built, found.problem, args).run(args, poison=True)
        torch.testing.assert_close(value, split(*args), rtol=1e-5, atol=2e-6)


CUDA = Target.parse("cuda")
ON_CUDA: dict[str, tuple[Any, Shapes, dict[str, int]]] = {
    "row": (lambda x: torch.softmax(x, -1), lambda axes: [(axes["rows"], 96)], {"rows": 40}),
    "odd_row": (lambda x: F.layer_norm(x, (67,)), lambda axes: [(axes["rows"], 67)], {"rows": 40}),
    "group": (lambda x: F.silu(F.group_norm(x, 2)), lambda axes: [(axes["rows"], 6, 5, 4)], {"rows": 12}),
    "flat": (lambda x: F.gelu(x), lambda axes: [(axes["rows"], axes["width"])], {"rows": 12, "width": 16}),
    "bias": (
        lambda x, y: torch.relu(x + y),
        lambda axes: [(axes["rows"], 36), (36,)],
        {"rows": 12},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Proposals, Emitted, Any]]:
    """Each case as emitted for CUDA and built for the host."""
    made = {}
    for name, (function, shapes, axes) in ON_CUDA.items():
        found = proposals(function, shapes, axes, CUDA)
        (region,) = found.partition.regions
        template = found.templates[0][0]
        made[name] = (found, template.emit(region, template.space(region).default(), f"k_{name}"))
    library = host.build([emitted for _, emitted in made.values()], tmp_path_factory.mktemp("cuda"))
    return {name: (*both, library) for name, both in made.items()}


@pytest.mark.parametrize("name", list(ON_CUDA))
def test_cuda_templates_at_other_sizes(name: str, on_cuda: dict[str, tuple[Proposals, Emitted, Any]]) -> None:
    found, emitted, library = on_cuda[name]
    function, shapes, base = ON_CUDA[name]
    (region,) = found.partition.regions
    assert all(f"{axis} >= 1" in found.partition.domain for axis in base)
    loaded = {node.access.buffer for node in region.nodes if isinstance(node, Load)}
    for size in (1, 2, 3, 7, base["rows"], 53):
        axes = {**base, "rows": size}
        if not holds(emitted.domain, axes):
            continue
        args = [torch.randn(shape) for shape in shapes(axes)]
        memory = host.Memory()
        for at, value in enumerate(args):
            assert f"x{at}" in loaded
            memory.add(f"x{at}", value)
        expected = function(*args)
        memory.add("out", torch.zeros_like(expected))
        host.run(library, emitted, memory, axes, size)
        torch.testing.assert_close(memory.get("out").view_as(expected), expected, rtol=1e-4, atol=1e-5)
        assert memory.untouched()
