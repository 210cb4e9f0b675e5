"""What a kernel's parameters are called for a problem, and a function to begin with.

The names are those that `read_kernel` knows (`naming`). A stub takes them in the order inputs, weights,
outputs, axes, scalars. It compiles and fills the outputs with zeros, so it is rejected until it computes
something. A name that C++ cannot give to a parameter is listed, and left out of the stub. There are no
stubs for Triton.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal, cast

from kernelwright.core.dtypes import Dtype
from kernelwright.core.expr import Expr
from kernelwright.core.problem import Problem
from kernelwright.languages.cpp_shim import C_TYPES
from kernelwright.languages.naming import Namer, c_name

StubLanguage = Literal["cpp", "cuda"]
NameKind = Literal["input", "weight", "output", "mutated", "axis", "scalar"]

_CUDA_TYPES: dict[Dtype, str] = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
_CUDA_HEADERS = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}
_BLOCK = 256
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype
default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
while xor xor_eq
"""
_RESERVED = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class Name:
    """What a parameter may be called, and what it is then."""

    kind: NameKind
    name: str
    """As the problem calls it."""
    parameter: str
    """As a function calls it."""
    dtype: Dtype
    shape: tuple[Expr, ...] | None = None
    """Of a tensor, over axes; None for a number."""
    value: int | float | None = None
    """Of an axis at the problem's own sizes, and of a scalar."""

    @property
    def is_result(self) -> bool:
        """Whether the kernel has to write it."""
        return self.kind in ("output", "mutated")


def names(problem: Problem) -> tuple[Name, ...]:
    """All names, in the order inputs, weights, outputs, axes, scalars."""
    specs = (*problem.inputs, *problem.weights, *problem.outputs)
    order = {spec.name: at for at, spec in enumerate(specs)}
    buffers = sorted(Namer(problem).buffers().items(), key=lambda item: order[item[1].name])
    found = [
        Name(cast(NameKind, buffer.role), buffer.name, parameter, buffer.dtype, buffer.shape)
        for parameter, buffer in buffers
    ]
    found += [Name("axis", axis.name, axis.name, "int64", value=axis.size) for axis in problem.axes]
    known = {axis.name for axis in problem.axes}
    for scalar in problem.scalars:
        if scalar.value is not None and scalar.name not in known:
            value = int(scalar.value) if isinstance(scalar.value, bool) else scalar.value
            dtype: Dtype = "float64" if isinstance(value, float) else "int64"
            found.append(Name("scalar", scalar.name, scalar.name, dtype, value=value))
    return tuple(found)


def stub(problem: Problem, language: StubLanguage) -> str:
    """Text of a file that `read_kernel` accepts for `problem`."""
    taken = _distinct(names(problem))
    outputs = [name for name in taken if name.kind == "output"]
    parameters = [(_declared(name, language), _said(name)) for name in taken]
    parameters += [(f"int64_t {name.parameter}_numel", f"elements of {name.parameter}") for name in outputs]
    types = {_CUDA_TYPES[name.dtype] for name in taken if language == "cuda" and name.dtype in _CUDA_TYPES}
    includes = ["cstdint", *sorted(_CUDA_HEADERS[each] for each in types)]
    called = {name.parameter for name in taken}
    index = next(each for each in ("i", "element", "kw_element") if each not in called)
    before = "__global__ void" if language == "cuda" else "void"
    return "\n".join([
        *(_launch(problem) if language == "cuda" else []),
        *(f"#include <{name}>" for name in includes),
        "",
        f'extern "C" {before} kernel_{re.sub(r"[^A-Za-z0-9_]", "_", problem.name)}(',
        *_lines(parameters),
        *(_loop(name, language, index) for name in outputs),
        *(f"    // Change {name.parameter} in place here." for name in taken if name.kind == "mutated"),
        "}",
        "",
    ])  # fmt: skip


def _distinct(found: tuple[Name, ...]) -> list[Name]:
    """The names that one function can have beside each other: of two that are alike, the tensor's."""
    kept: dict[str, Name] = {}
    for name in found:
        if name.parameter.isascii() and name.parameter not in _RESERVED:
            kept.setdefault(name.parameter, name)
    return list(kept.values())


def _declared(name: Name, language: StubLanguage) -> str:
    kind = _CUDA_TYPES.get(name.dtype) if language == "cuda" else None
    kind = kind or C_TYPES[name.dtype].removeprefix("std::")
    if name.shape is None:
        return f"{kind} {name.parameter}"
    return f"{'' if name.is_result else 'const '}{kind} *{name.parameter}"


def _said(name: Name) -> str:
    if name.shape is None:
        return f"{name.kind}, here {name.value}"
    return f"{name.kind} [{', '.join(map(str, name.shape))}]"


def _lines(parameters: list[tuple[str, str]]) -> list[str]:
    """One parameter a line, with what it is beside it."""
    ends = [","] * (len(parameters) - 1) + [") {"]
    code = [f"    {text}{end}" for (text, _), end in zip(parameters, ends, strict=True)]
    width = max(map(len, code))
    return [f"{line:{width}}  // {said}" for line, (_, said) in zip(code, parameters, strict=True)]


def _loop(name: Name, language: StubLanguage, index: str) -> str:
    first, step = "0", f"++{index}"
    if language == "cuda":
        first = f"int64_t(blockIdx.x) * {_BLOCK} + threadIdx.x"
        step = f"{index} += int64_t(gridDim.x) * {_BLOCK}"
    return (
        f"    for (int64_t {index} = {first}; {index} < {name.parameter}_numel; {step})\n"
        f"        {name.parameter}[{index}] = 0.0f;  // compute it here"
    )


def _launch(problem: Problem) -> list[str]:
    """The comment with launch numbers: a thread for each element of the first result."""
    elements = Namer(problem).numbers()
    results = [c_name(spec.name) for spec in problem.outputs] or [c_name(name) for name in problem.mutated]
    blocks = f"max(1, ceildiv({elements[f'{results[0]}_numel']}, {_BLOCK}))" if results else 1
    return [f"// kernelwright: {json.dumps({'grid': [blocks, 1, 1], 'block': [_BLOCK, 1, 1]})}"]
