"""What a plan passes to each entry: the signature that the entry's function must have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kernelwright.core.dtypes import Dtype
from kernelwright.core.plan import (
    Arg,
    BufferArg,
    Call,
    FloatArg,
    IntArg,
    Launch,
    Plan,
    Repeat,
    Step,
    TensorMapArg,
)
from kernelwright.languages.base import Refused

ParameterKind = Literal["buffer", "int", "float", "tensor_map"]
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument as the entry receives it."""

    kind: ParameterKind
    dtype: Dtype | None
    """Of the value, or of the buffer's elements; None for a tensor map."""
    label: str
    """What is passed, for messages; two calls of one entry may differ in it."""

    @property
    def size(self) -> int:
        """Bytes of the value in the argument list."""
        return {"buffer": 8, "tensor_map": 128}.get(self.kind) or (
            8 if self.dtype in ("int64", "float64") else 4
        )


Signature = tuple[Parameter, ...]


def calls(plan: Plan) -> Iterator[Call | Launch]:
    """Every call and launch of the plan, those inside repetitions included."""
    yield from _within((*plan.prepare, *plan.run))


def signatures(plan: Plan | None, kind: Literal["call", "launch"]) -> dict[str, Signature]:
    """Entry name to signature. Raises `Refused` where there is no plan, or it contradicts itself."""
    if plan is None:
        raise Refused("the kernel has no plan; only open kernels (language 'python') may do without one")
    found: dict[str, Signature] = {}
    for step in calls(plan):
        if step.kind != kind:
            raise Refused(
                f"the plan has a '{step.kind}' step of '{step.entry}'; this language has only '{kind}' steps"
            )
        if not _IDENTIFIER.fullmatch(step.entry):
            raise Refused(f"entry {step.entry!r} is not a C identifier")
        signature = tuple(_parameter(plan, arg) for arg in step.args)
        if _shape(found.setdefault(step.entry, signature)) != _shape(signature):
            raise Refused(
                f"the plan passes different kinds of arguments to '{step.entry}' in different steps"
            )
    return found


def describe(signature: Signature) -> str:
    """The arguments by label, for messages."""
    return ", ".join(parameter.label for parameter in signature) or "none"


def _within(steps: tuple[Step, ...]) -> Iterator[Call | Launch]:
    for step in steps:
        if isinstance(step, Repeat):
            yield from _within(step.steps)
        elif isinstance(step, Call | Launch):
            yield step


def _parameter(plan: Plan, arg: Arg) -> Parameter:
    match arg:
        case BufferArg(buffer=name):
            return Parameter("buffer", _dtype(plan, name), f"buffer '{name}'")
        case IntArg(value=value, dtype=dtype):
            return Parameter("int", dtype, f"integer {value!r}")
        case FloatArg(value=number, dtype=width):
            return Parameter("float", width, f"number {number!r}")
        case TensorMapArg(buffer=name):
            _dtype(plan, name)
            return Parameter("tensor_map", None, f"tensor map of '{name}'")


def _dtype(plan: Plan, name: str) -> Dtype:
    try:
        return plan.buffer(name).dtype
    except KeyError:
        known = ", ".join(buffer.name for buffer in plan.buffers) or "none"
        raise Refused(
            f"the plan passes buffer '{name}' that it does not declare; declared: {known}"
        ) from None


def _shape(signature: Signature) -> tuple[tuple[ParameterKind, Dtype | None], ...]:
    return tuple((parameter.kind, parameter.dtype) for parameter in signature)
