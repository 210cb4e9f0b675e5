"""A definition at one of its workloads becomes a `Problem`.

The problem is a file in KernelBench form (`problem_text`), so all that holds for such files holds here:
axes, other sizes at which the reference still runs, named draws, the hash. Where the workload comes from
stands in `notes`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from kernelwright.core.dtypes import Dtype
from kernelwright.core.errors import ProblemError, UsageError, did_you_mean
from kernelwright.core.expr import evaluate
from kernelwright.core.problem import Problem
from kernelwright.problems.kernelbench import KernelBenchOrigin
from kernelwright.problems.load import problem_of
from kernelwright.suites.exchange.definition import Definition, Tensor
from kernelwright.suites.exchange.problem_text import over_axes, problem_text
from kernelwright.suites.exchange.tensors import StoredTensor, find_tensor_file, keep_tensor
from kernelwright.suites.exchange.workload import Workload


def definition_problem(definition: Definition, workload: Workload, place: Path, beside: Path) -> Problem:
    """The problem of a workload; ProblemError or UsageError, one line, for what does not fit.

    `place` is the definition's file, `beside` the folder that tensor files are looked for from.
    """
    where = f"definition '{definition.name}'"
    sizes = _sizes(definition, workload, where)
    for name, tensor in {**definition.inputs, **definition.outputs}.items():
        if tensor.dtype not in get_args(Dtype):
            known = did_you_mean(tensor.dtype, get_args(Dtype))
            raise ProblemError(f"{where}: '{name}' has element type {tensor.dtype}; {known}")
    _check_kinds(definition, workload, where)
    stored = dict(_stored(definition, workload, sizes, beside))
    made = problem_text(definition, workload, stored)
    problem = problem_of(KernelBenchOrigin(made.text, made.entry(str(place.resolve()))))
    return _named(problem, definition, workload, where)


def _sizes(definition: Definition, workload: Workload, where: str) -> dict[str, int]:
    try:
        sizes = definition.sizes(workload.axes)
    except ValueError as error:
        raise UsageError(f"{where}, workload {workload.uuid}: {error}") from error
    for name, size in workload.axes.items():
        if sizes.get(name, size) != size:
            raise UsageError(
                f"{where}, workload {workload.uuid}: '{name}' is {size} there, computed as {sizes[name]}"
            )
    return sizes


def _check_kinds(definition: Definition, workload: Workload, where: str) -> None:
    """Numbers are given as scalars, tensors are not, and a function that makes inputs is there."""
    for name, given in workload.inputs.items():
        is_number = definition.inputs[name].shape is None
        if is_number and given.kind not in ("scalar", "custom"):
            raise UsageError(
                f"{where}: '{name}' is a number, so a workload gives it as scalar, not {given.kind}"
            )
        if not is_number and given.kind == "scalar":
            raise UsageError(f"{where}: '{name}' is a tensor, so a workload cannot give it as scalar")
        if given.kind == "custom" and definition.custom_inputs_entrypoint is None:
            raise UsageError(f"{where}: '{name}' is custom, and there is no custom_inputs_entrypoint")


def _stored(
    definition: Definition, workload: Workload, sizes: dict[str, int], beside: Path
) -> Iterator[tuple[str, StoredTensor]]:
    """The inputs that come from files, copied into the data directory."""
    for name, given in workload.inputs.items():
        if given.kind == "safetensors" and given.path and given.tensor_key:
            kept = keep_tensor(find_tensor_file(given.path, beside), given.tensor_key)
            wanted = (definition.inputs[name].dtype, definition.shape(definition.inputs[name], sizes))
            if (kept.dtype, kept.shape) != wanted:
                raise UsageError(
                    f"input '{name}' of workload {workload.uuid} is {list(kept.shape)} of {kept.dtype} in "
                    f"'{given.path}'; the definition says {list(wanted[1])} of {wanted[0]}"
                )
            yield name, kept


def _named(problem: Problem, definition: Definition, workload: Workload, where: str) -> Problem:
    """The problem with the definition's name and names of outputs; ProblemError if the outputs differ."""
    if len(problem.outputs) != len(definition.outputs):
        raise ProblemError(
            f"{where}: run gives {len(problem.outputs)} tensors, not {len(definition.outputs)}"
        )
    sizes = definition.sizes(workload.axes)
    outputs = []
    for found, (name, tensor) in zip(problem.outputs, definition.outputs.items(), strict=True):
        shape = tuple(evaluate(size, problem.axis_sizes) for size in found.shape)
        if (found.dtype, shape) != (tensor.dtype, definition.shape(tensor, sizes)):
            raise ProblemError(
                f"{where}: run gives '{name}' as {list(shape)} of {found.dtype}; the definition says "
                f"{_said(tensor, definition, sizes)}"
            )
        outputs.append(found.model_copy(update={"name": name}))
    values = [text for text in definition.constraints or () if text not in over_axes(definition)]
    notes = {"definition": definition.name, "workload": workload.uuid}
    if values:
        notes["constraints_on_values"] = "; ".join(values)
    if workload.tolerance is not None:
        notes["tolerance"] = json.dumps(workload.tolerance)
    return problem.model_copy(
        update={"name": definition.name, "outputs": tuple(outputs), "notes": {**problem.notes, **notes}}
    )


def _said(tensor: Tensor, definition: Definition, sizes: dict[str, int]) -> str:
    return f"{list(definition.shape(tensor, sizes))} of {tensor.dtype}"
