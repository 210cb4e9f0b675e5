"""What is derived of a problem by tracing it and by a small run: tensors, counts, findings.

None of it enters the problem's hash. Shapes are expressions over axes where the derived points
agree with one (`symbolic`), else literals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import torch
from torch import fx
from torch.utils import _pytree as pytree

from kernelwright.core.dtypes import Dtype
from kernelwright.core.errors import ProblemError
from kernelwright.core.problem import Problem, ScalarSpec, TensorSpec, Workload
from kernelwright.graph.capture import Captured, input_names
from kernelwright.graph.cost import cost
from kernelwright.graph.float_types import float_types
from kernelwright.graph.rewrites.engine import rewritten
from kernelwright.problems.degenerate import repeats, unread_inputs, weak_answers, written_by_running
from kernelwright.problems.fixed import written
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import Outline, Shape, outline_or_none
from kernelwright.problems.probe import Point, points
from kernelwright.problems.reference import Reference
from kernelwright.problems.symbolic import express_shape
from kernelwright.problems.trace import returned_shapes, traced

_SMALL_BYTES = 16 << 20
_SMALL_FLOPS = 2e9
_AFFORDABLE_BYTES = 512 << 20
_AFFORDABLE_FLOPS = 40e9


def described(problem: Problem, origin: Origin, base: Outline) -> Problem:
    """The problem with its derived fields."""
    captured, reason = traced(origin, base)
    returned = _returned(captured, origin)
    seen = points(origin, problem, base, returned)
    tensors = {
        "inputs": _inputs(base, seen),
        "weights": _named(base.weights, "weight", seen),
        "outputs": _outputs(returned, seen),
    }
    found = problem.model_copy(update={**tensors, "scalars": _scalars(base)})
    if captured is None:
        found = found.model_copy(update={"notes": {**found.notes, "not_captured": reason}})
    else:
        found = found.model_copy(update=_counted(captured))
    return _sampled(found, origin, captured)


def _counted(captured: Captured) -> dict[str, Any]:
    counts = cost(captured)
    return {
        "mutated": tuple(captured.mutations),
        "random": "reproduced" if captured.random else "none",
        "compulsory_bytes": counts.compulsory_bytes,
        "graph_bytes": counts.bytes_as_written,
        "graph_flops": counts.flops,
        "rewritten_flops": rewritten(captured).after.flops,
        "float_types": float_types(captured),
        "degenerate": tuple(unread_inputs(captured)),
        "notes": {},
    }


def _sampled(problem: Problem, origin: Origin, captured: Captured | None) -> Problem:
    """Findings from real values at the smallest workload, where that is cheap enough."""
    point = _cheapest(problem, origin)
    if point is None:
        return problem.model_copy(
            update={"notes": {**problem.notes, "not_sampled": "too large to run while loading"}}
        )
    reference = Reference.open(problem, point, "cpu")
    if captured is None:
        problem = problem.model_copy(update={"mutated": written_by_running(reference)})
        reference = Reference.open(problem, point, "cpu")
    random = problem.random
    if not repeats(reference):
        random = "stochastic"
    findings = () if random == "stochastic" else tuple(weak_answers(reference))
    return problem.model_copy(update={
        "random": random,
        "degenerate": tuple(dict.fromkeys([*problem.degenerate, *findings])),
    })  # fmt: skip


def _cheapest(problem: Problem, origin: Origin) -> Workload | None:
    """The base point if it is small, else the one with the fewest bytes, if it can be run at once."""
    sized = [(_held_bytes(origin, workload.axes), workload) for workload in problem.workloads]
    base_bytes = sized[0][0] or 1
    moved = max(base_bytes, problem.graph_bytes or 0)
    small = moved <= _SMALL_BYTES and (problem.graph_flops or 0) <= _SMALL_FLOPS
    fewest, workload = sized[0] if small else min(sized, key=lambda pair: pair[0])
    flops = (problem.graph_flops or 0) * fewest / base_bytes
    return workload if fewest <= _AFFORDABLE_BYTES and flops <= _AFFORDABLE_FLOPS else None


def _held_bytes(origin: Origin, axes: Mapping[str, int]) -> int:
    made = outline_or_none(origin, axes)
    return made.total_bytes if made is not None else 0


def _returned(captured: Captured | None, origin: Origin) -> list[torch.Tensor]:
    """Tensors that the reference returns; only their shapes and types are used."""
    if captured is None:
        leaves = pytree.tree_leaves(returned_shapes(origin))
    else:
        leaves = [value.meta["val"] for value in captured.outputs if isinstance(value, fx.Node)]
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors:
        raise ProblemError(
            f"reference of '{origin.name}' returns no tensor; forward must return at least one"
        )
    if not all(isinstance(size, int) for tensor in tensors for size in tensor.shape):
        raise ProblemError(
            f"an output of '{origin.name}' has a shape that depends on values; "
            "give a reference whose shapes follow from those of its inputs"
        )
    return tensors


def _inputs(base: Outline, seen: Sequence[Point]) -> tuple[TensorSpec, ...]:
    leaves = [leaf for arg in base.arguments for leaf in pytree.tree_leaves(arg)]
    names = input_names(base.module, base.arguments)
    tensors = [
        (name, leaf) for name, leaf in zip(names, leaves, strict=True) if isinstance(leaf, torch.Tensor)
    ]
    return tuple(
        TensorSpec(name=name, dtype=dtype_name(tensor, name), shape=_shape(f"input {i}", tensor, seen))
        for i, (name, tensor) in enumerate(tensors)
    )


def _named(tensors: Mapping[str, torch.Tensor], kind: str, seen: Sequence[Point]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(name=name, dtype=dtype_name(tensor, name), shape=_shape(f"{kind} {name}", tensor, seen))
        for name, tensor in tensors.items()
    )


def _outputs(returned: Sequence[torch.Tensor], seen: Sequence[Point]) -> tuple[TensorSpec, ...]:
    single = len(returned) == 1
    return tuple(
        TensorSpec(
            name="out" if single else f"out{i}",
            dtype=dtype_name(tensor, f"output {i}"),
            shape=_shape(f"output {i}", tensor, seen),
        )
        for i, tensor in enumerate(returned)
    )


def _shape(key: str, tensor: torch.Tensor, seen: Sequence[Point]) -> tuple[int | str, ...]:
    samples: list[tuple[Mapping[str, int], Shape]] = [
        (point.axes, point.shapes[key]) for point in seen if key in point.shapes
    ]
    return express_shape(samples) if samples else tuple(int(size) for size in tensor.shape)


def _scalars(base: Outline) -> tuple[ScalarSpec, ...]:
    """Arguments that are no tensors, those in lists and dicts included."""
    leaves = [(at, leaf) for at, arg in enumerate(base.arguments) for leaf in pytree.tree_leaves(arg)]
    names = input_names(base.module, base.arguments)
    held = [(name, at, written(leaf)) for name, (at, leaf) in zip(names, leaves, strict=True)]
    return tuple(
        ScalarSpec(name=name, value=found[0], text=found[1], position=at) for name, at, found in held if found
    )


def dtype_name(tensor: torch.Tensor, what: str) -> Dtype:
    """Our name of a tensor's element type; ProblemError for those that no kernel can be built for."""
    name = str(tensor.dtype).removeprefix("torch.")
    allowed: tuple[Dtype, ...] = get_args(Dtype)
    for known in allowed:
        if known == name:
            return known
    raise ProblemError(f"'{what}' has element type {name}; allowed: {', '.join(allowed)}")
