"""How many bytes a problem's results need in shared memory, from its specs alone."""

from __future__ import annotations

from math import prod

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.core.expr import evaluate
from kernelwright.core.problem import Problem, TensorSpec, Workload
from kernelwright.execute.arena import offsets


def result_bytes(problem: Problem, workload: Workload) -> int:
    """Bytes that outputs and mutated tensors take in an arena at this workload."""
    axes = {**problem.axis_sizes, **workload.axes}
    specs = {spec.name: spec for spec in (*problem.weights, *problem.inputs)}
    wanted: list[TensorSpec] = [*problem.outputs, *(specs[name] for name in problem.mutated)]
    sizes = [prod(evaluate(size, axes) for size in spec.shape) * ITEM_BYTES[spec.dtype] for spec in wanted]
    return offsets(sizes)[1]
