"""How many bytes a problem takes, from its specs alone: to share memory, and to know when it is short.

Not covered: what a reference allocates on its way from inputs to outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.core.expr import evaluate
from kernelwright.core.problem import Problem, TensorSpec, Workload
from kernelwright.execute.arena import offsets

LARGE_BYTES = 4 << 30
"""Inputs, weights and outputs from which a problem is judged with one set of them at a time: two processes
hold several times as much between them, and a device may have 80 GB."""


def result_bytes(problem: Problem, workload: Workload) -> int:
    """Bytes that outputs and mutated tensors take in an arena at this workload."""
    specs = {spec.name: spec for spec in (*problem.weights, *problem.inputs)}
    wanted = [*problem.outputs, *(specs[name] for name in problem.mutated)]
    return offsets(_sizes(wanted, {**problem.axis_sizes, **workload.axes}))[1]


def problem_bytes(problem: Problem, workload: Workload | None = None) -> int:
    """Bytes of all inputs, weights and outputs, at the source's own sizes by default."""
    axes = {**problem.axis_sizes, **(workload or problem.base).axes}
    return sum(_sizes([*problem.inputs, *problem.weights, *problem.outputs], axes))


def is_large(problem: Problem, workload: Workload) -> bool:
    """Whether memory, not time, says how this problem is judged."""
    return problem_bytes(problem, workload) > LARGE_BYTES


def _sizes(specs: Sequence[TensorSpec], axes: Mapping[str, int]) -> list[int]:
    return [prod(evaluate(size, axes) for size in spec.shape) * ITEM_BYTES[spec.dtype] for spec in specs]
