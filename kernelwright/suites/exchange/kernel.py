"""A solution becomes an open `Kernel`: its sources as they came, behind one that calls its entry point.

    def kernel(x, weight):
        batch = x.shape[0]
        written = outputs((((batch, 4096), 'float32'),), device_of(x, weight))
        run(x, weight, *written)            # destination-passing style
        return written

(with longer names). Solutions whose host side is compiled (C++ that binds through torch or TVM) are refused
by name: such a host side cannot be kept apart from the judge, and Kernelwright writes its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.languages import guard
from kernelwright.languages.base import Refused
from kernelwright.languages.python import FUNCTION
from kernelwright.suites.exchange.definition import OURS, Definition
from kernelwright.suites.exchange.problem_text import CALLS, renamed, shape_text
from kernelwright.suites.exchange.solution import Solution

PLAIN = frozenset({"python", "pytorch"})
ON_A_GPU = frozenset({"triton"})
ADAPTER = "solution_entry"
"""Name of the source that we write, if no source of the solution has it."""
ENTRY, _WRITTEN = f"{OURS}entry", f"{OURS}outputs"
"""Names in that source."""


def solution_kernel(solution: Solution, definition: Definition, problem: Problem, target: Target) -> Kernel:
    """The solution as a kernel for `problem`; UsageError, one line, if it cannot be judged here."""
    _check(solution, definition, target)
    taken = {file.path for file in solution.sources}
    name = ADAPTER
    while f"{name}.py" in taken:
        name += "_"
    sources = [Source(path=file.path, text=file.content) for file in solution.sources]
    kernel = Kernel(
        name=solution.name,
        problem=problem.hash,
        language="python",
        sources=(Source(path=f"{name}.py", text=adapter_text(solution, definition)), *sources),
        proposer=Proposer(name=solution.author or "solution", parameters={"solution": solution.name}),
    )
    try:
        guard.check_paths(kernel)
    except Refused as refusal:
        raise UsageError(f"solution '{solution.name}': {refusal}") from refusal
    return kernel


def adapter_text(solution: Solution, definition: Definition) -> str:
    """A Python source whose `kernel` calls the entry point as the definition's projects do."""
    file, function = solution.spec.entry
    module = ".".join(PurePosixPath(file).with_suffix("").parts)
    names = ", ".join(definition.inputs)
    dtypes = {name: tensor.dtype for name, tensor in definition.outputs.items()}
    lines = [f"return {CALLS}.in_order({ENTRY}({names}), {dtypes!r})"]
    if solution.spec.destination_passing_style:
        lines = [*_passing(solution, definition, names)]
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f'"""Calls {function} of {file} as a solution of its definition is called."""\n\n'
        f"import importlib\n\nimport kernelwright.suites.exchange.calls as {CALLS}\n\n"
        f"{ENTRY} = getattr(importlib.import_module({module!r}), {function!r})\n\n\n"
        f"def {FUNCTION}({names}):\n{body}\n"
    )


def _passing(solution: Solution, definition: Definition, names: str) -> Iterator[str]:
    """Sizes from the inputs, memory for the outputs, the call."""
    called = {axis: f"{OURS}size_{axis}" for axis in definition.axes}
    yield from _sizes(solution, definition, called)
    forms = ", ".join(
        f"({shape_text(tensor.shape, called)}, {tensor.dtype!r})" for tensor in definition.outputs.values()
    )
    yield f"{_WRITTEN} = {CALLS}.outputs(({forms},), {CALLS}.device_of({names}))"
    yield f"{ENTRY}({names}, *{_WRITTEN})"
    yield f"return {_WRITTEN}"


def _sizes(solution: Solution, definition: Definition, called: Mapping[str, str]) -> Iterator[str]:
    """A line for each axis; UsageError where a size that an output needs shows in no input."""
    places = {
        axis: f"{name}.shape[{dim}]"
        for name, tensor in reversed(definition.inputs.items())
        for dim, axis in reversed(list(enumerate(tensor.shape or ())))
    }
    for name, axis in definition.axes.items():
        if axis.kind == "const":
            yield f"{called[name]} = {axis.value}"
        elif axis.kind == "var" and name in places:
            yield f"{called[name]} = {places[name]}"
        elif axis.kind == "var" and any(name in (out.shape or ()) for out in definition.outputs.values()):
            raise UsageError(
                f"solution '{solution.name}' is passed its outputs, and no input tells the size of axis "
                f"'{name}'; judge a solution that returns them (destination_passing_style false)"
            )
    for name, axis in definition.axes.items():
        if axis.kind == "expr" and axis.expression is not None:
            yield f"{called[name]} = {CALLS}.whole({renamed(axis.expression, called)})"


def _check(solution: Solution, definition: Definition, target: Target) -> None:
    """UsageError, one line, for another definition, a compiled host side, or another target."""
    if solution.definition != definition.name:
        raise UsageError(
            f"solution '{solution.name}' solves '{solution.definition}'; the definition given is "
            f"'{definition.name}'; give the one that it solves"
        )
    languages = set(solution.spec.written_in)
    compiled = sorted(languages - PLAIN - ON_A_GPU)
    if compiled:
        binding = solution.spec.binding or "torch"
        raise UsageError(
            f"solution '{solution.name}' is in {compiled[0]}, whose host side (binding {binding}) is not "
            'built here; write its device function into a .cu file as extern "C" __global__ and judge that: '
            "kernelwright verify FILE.cu --problem DEFINITION.json --target cuda"
        )
    if languages & ON_A_GPU and target.name != "cuda":
        raise UsageError(
            f"solution '{solution.name}' is in triton, which runs on cuda, the target is {target.name}; "
            "give --target cuda"
        )
