"""Whether a plan's buffers are the problem's tensors: by name, role, dtype and shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.expr import evaluate
from kernelwright.core.problem import Problem, TensorSpec
from kernelwright.execute.bound import BoundBuffer, BoundPlan
from kernelwright.execute.reports import PlanRefused
from kernelwright.execute.roles import touched

SizedSpec = tuple[TensorSpec, tuple[int, ...]]
"""A tensor of the problem and its shape at the plan's axes."""


@dataclass(frozen=True)
class Promises:
    """What a plan takes and gives, in the problem's terms."""

    inputs: tuple[SizedSpec, ...]
    """Those inputs that the plan names; the others are not read."""
    weights: tuple[SizedSpec, ...]
    results: tuple[str, ...]
    """Outputs, then mutated tensors, in the problem's order."""
    empty: bool
    """Whether every result has no elements, so that nothing needs to run."""


def promises(problem: Problem, plan: BoundPlan) -> Promises:
    """Match `plan` with `problem`; PlanRefused, one line, if they do not fit."""
    inputs = _sized(problem.inputs, plan)
    weights = _sized(problem.weights, plan)
    outputs = _sized(problem.outputs, plan)
    _match(plan.with_role("input"), inputs)
    _match(plan.with_role("weight"), weights)
    _match(plan.with_role("output"), outputs)
    changed = {name: spec for name, spec in {**weights, **inputs}.items() if name in problem.mutated}
    _match(plan.with_role("mutated"), changed)
    results = (*outputs, *problem.mutated)
    used = {name for step in plan.run for name in touched(step)}
    sizes = []
    for name in results:
        if name not in plan.buffers or plan.buffers[name].role not in ("output", "mutated"):
            raise PlanRefused(f"the plan does not give '{name}'; declare it as an output or mutated buffer")
        sizes.append(plan.buffers[name].numel)
        if name not in used and sizes[-1]:
            raise PlanRefused(f"no run step touches '{name}', which is a result of the problem")
    return Promises(
        inputs=_named(inputs, plan.with_role("input", "mutated")),
        weights=_named(weights, plan.with_role("weight", "mutated")),
        results=results,
        empty=not any(sizes),
    )


def _match(buffers: Iterable[BoundBuffer], specs: Mapping[str, SizedSpec]) -> None:
    for buffer in buffers:
        if buffer.name not in specs:
            raise PlanRefused(
                f"the problem has no {buffer.role} '{buffer.name}'; {did_you_mean(buffer.name, specs)}"
            )
        spec, shape = specs[buffer.name]
        if buffer.dtype != spec.dtype or buffer.shape != shape:
            raise PlanRefused(
                f"buffer '{buffer.name}' is {list(buffer.shape)} of {buffer.dtype};"
                f" the problem's is {list(shape)} of {spec.dtype}"
            )


def _named(specs: Mapping[str, SizedSpec], buffers: Iterable[BoundBuffer]) -> tuple[SizedSpec, ...]:
    wanted = {buffer.name for buffer in buffers}
    return tuple(sized for name, sized in specs.items() if name in wanted)


def _sized(specs: Iterable[TensorSpec], plan: BoundPlan) -> dict[str, SizedSpec]:
    try:
        return {spec.name: (spec, tuple(evaluate(size, plan.axes) for size in spec.shape)) for spec in specs}
    except UsageError as error:
        raise PlanRefused(f"the problem's shapes cannot be computed at these axes: {error}") from error
