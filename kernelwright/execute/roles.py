"""Who may touch which buffer: `prepare` sees weights, nothing writes an input, and so on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelwright.execute.bound import (
    Address,
    AnyStep,
    BoundCopy,
    BoundLibrary,
    BoundMemset,
    BoundPlan,
    View,
)
from kernelwright.execute.reports import PlanRefused

_IN_PREPARE = frozenset({"weight", "prepared", "scratch"})


def check_roles(plan: BoundPlan) -> None:
    """PlanRefused if a step touches a buffer that it may not.

    What an entry does with an address cannot be seen here; the contract gate compares the inputs
    before and after a run.
    """
    for index, step in enumerate(plan.prepare):
        for name in touched(step):
            if plan.buffers[name].role not in _IN_PREPARE:
                raise PlanRefused(
                    f"prepare step {index} uses '{name}', a buffer of role {plan.buffers[name].role};"
                    " prepare may use weight, prepared and scratch buffers"
                )
    prepared = {name for step in plan.prepare for name in touched(step)}
    for index, step in enumerate(plan.run):
        for name in touched(step):
            if plan.buffers[name].role == "prepared" and name not in prepared:
                raise PlanRefused(
                    f"run step {index} uses '{name}', which no prepare step touches; add one that fills it"
                )
    for part, steps in (("run", plan.run), ("prepare", plan.prepare)):
        for index, step in enumerate(steps):
            _check_writes(f"{part} step {index}", part, step, plan)


def touched(step: AnyStep) -> list[str]:
    """Names of the buffers that a step is given, each once."""
    match step:
        case BoundMemset():
            return [step.buffer]
        case BoundCopy():
            return [step.source, step.destination]
        case BoundLibrary():
            views = [*_views(step.inputs), *_views(list(step.keywords.values())), *step.outputs]
            return list(dict.fromkeys(view.buffer for view in views))
        case _:
            return list(dict.fromkeys(arg.buffer for arg in step.args if isinstance(arg, Address)))


def _check_writes(where: str, part: str, step: AnyStep, plan: BoundPlan) -> None:
    for name in _written(step):
        role = plan.buffers[name].role
        if role in ("input", "weight") or (role == "prepared" and part == "run"):
            raise PlanRefused(
                f"{where} writes '{name}', a buffer of role {role}; write output, mutated or scratch buffers"
            )


def _written(step: AnyStep) -> list[str]:
    match step:
        case BoundMemset():
            return [step.buffer]
        case BoundCopy():
            return [step.destination]
        case BoundLibrary():
            return [view.buffer for view in step.outputs]
    return []


def _views(value: Any) -> Iterator[View]:
    if isinstance(value, View):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _views(item)
