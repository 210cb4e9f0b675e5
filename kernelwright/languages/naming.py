"""Match a function's parameters with the problem by name, and make a plan of it.

A pointer is an input, a weight, an output, a mutated tensor or declared scratch, by its own name
(dots become underscores: `norm.weight` is `norm_weight`). A number is an axis, one of the
problem's scalars, or a tensor's `<name>_numel` or `<name>_size<dimension>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.expr import Expr
from kernelwright.core.plan import Arg, Buffer, BufferArg, FloatArg, IntArg, Role
from kernelwright.core.problem import Problem, TensorSpec
from kernelwright.languages.annotation import Scratch

_INT64 = {
    "int64_t",
    "long",
    "longlong",
    "longint",
    "longlongint",
    "ptrdiff_t",
    "ssize_t",
    "size_t",
    "uint64_t",
}
_INT32 = {"int", "int32_t", "unsigned", "unsignedint", "uint32_t"}
Width = Literal["int64", "int32", "float32", "float64"]


def c_name(name: str) -> str:
    """A tensor's name as a C identifier."""
    return re.sub(r"\W", "_", name)


def c_width(kind: str) -> Width | None:
    """What a C type passes, for the types that numbers may have; None for another type."""
    bare = re.sub(r"\b(const|std::|std)\b|::|\s", "", kind)
    if bare in _INT64:
        return "int64"
    if bare in _INT32:
        return "int32"
    return {"float": "float32", "double": "float64"}.get(bare)  # type: ignore[return-value]


@dataclass
class Namer:
    """Finds what a parameter means; remembers which buffers were used."""

    problem: Problem
    scratch: tuple[Scratch, ...] = ()
    used: dict[str, Buffer] = field(default_factory=dict)

    def pointer(self, where: str, parameter: str) -> Arg:
        """The buffer that a pointer parameter means. UsageError lists the names that there are."""
        known = self.buffers()
        buffer = known.get(parameter)
        if buffer is None:
            raise UsageError(f"{where}: no tensor is called '{parameter}'; {did_you_mean(parameter, known)}")
        self.used.setdefault(buffer.name, buffer)
        return BufferArg(buffer=buffer.name)

    def number(self, where: str, parameter: str, width: Width) -> Arg:
        """The number that a parameter means, passed in the width that it is declared with."""
        known = self.numbers()
        if parameter not in known:
            raise UsageError(
                f"{where}: no size or scalar is called '{parameter}'; {did_you_mean(parameter, known)}"
            )
        value = known[parameter]
        if width in ("float32", "float64"):
            if isinstance(value, str):
                raise UsageError(f"{where}: '{parameter}' is a size; declare it int64_t")
            return FloatArg(value=float(value), dtype="float32" if width == "float32" else "float64")
        if isinstance(value, float):
            raise UsageError(f"{where}: '{parameter}' is {value!r}; declare it float or double")
        return IntArg(value=value, dtype="int64" if width == "int64" else "int32")

    def is_pointer(self, parameter: str) -> bool:
        """Whether the name is a tensor's, for sources that do not declare types."""
        return parameter in self.buffers()

    def finish(self, where: str) -> tuple[Buffer, ...]:
        """The buffers used. UsageError if a result of the problem is not among them."""
        for name in (*(spec.name for spec in self.problem.outputs), *self.problem.mutated):
            if name not in self.used:
                raise UsageError(
                    f"{where}: no function takes '{c_name(name)}', a result of the problem; add it"
                )
        return tuple(self.used.values())

    def buffers(self) -> dict[str, Buffer]:
        """Buffers by C name; where two share one, that which is spelt so keeps it."""
        found: dict[str, Buffer] = {}
        for buffer in sorted(self._declared(), key=lambda buffer: buffer.name != c_name(buffer.name)):
            found.setdefault(c_name(buffer.name), buffer)
        return found

    def _declared(self) -> Iterable[Buffer]:
        problem = self.problem
        groups: tuple[tuple[Role, tuple[TensorSpec, ...]], ...] = (
            ("output", problem.outputs), ("input", problem.inputs), ("weight", problem.weights),
        )  # fmt: skip
        for role, specs in groups:
            for spec in specs:
                actual: Role = "mutated" if spec.name in problem.mutated else role
                yield Buffer(name=spec.name, role=actual, dtype=spec.dtype, shape=spec.shape)
        for item in self.scratch:
            yield Buffer(name=item.name, role="scratch", dtype=item.dtype, shape=item.shape)

    def numbers(self) -> dict[str, int | float | str]:
        """Numbers by name: an axis or a product of axes as an expression, a scalar as its value."""
        found: dict[str, int | float | str] = {axis.name: axis.name for axis in self.problem.axes}
        for scalar in self.problem.scalars:
            if scalar.value is not None:
                value = scalar.value
                found.setdefault(scalar.name, int(value) if isinstance(value, bool) else value)
        for buffer in self._declared():
            name = c_name(buffer.name)
            found.setdefault(f"{name}_numel", _product(buffer.shape))
            for dimension, size in enumerate(buffer.shape):
                found.setdefault(f"{name}_size{dimension}", str(size))
        return found


def _product(shape: tuple[Expr, ...]) -> str:
    return " * ".join(f"({size})" if isinstance(size, str) else str(size) for size in shape) or "1"
