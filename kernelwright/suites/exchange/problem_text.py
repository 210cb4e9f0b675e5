"""The text of a problem file for one workload of a definition: the reference, then what makes its inputs.

    <reference, as it came>

    batch_size = 4                              variable axes: constants that may be changed
    class Model(...): forward(..., x, weight)   calls the reference's `run`
    def get_inputs(): ...                       fixed and computed axes, constraints, one entry an input

A variable axis in the shape of a stored tensor cannot change, so it is fixed as well. Names that the
reference uses for itself are left to it: ours get another one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.core.problem import Entry
from kernelwright.suites.exchange.definition import OURS, RUN, Definition
from kernelwright.suites.exchange.tensors import StoredTensor
from kernelwright.suites.exchange.workload import Workload

CALLS = f"{OURS}calls"
"""What the text calls `kernelwright.suites.exchange.calls`."""


@dataclass(frozen=True)
class ProblemText:
    """A problem file, and what its parts are called."""

    text: str
    model: str
    inputs: str
    init: str

    def entry(self, location: str) -> Entry:
        """The problem's entry; `location` is where its definition lies."""
        return Entry(
            kind="kernelbench", location=location, model=self.model, inputs=self.inputs, init=self.init
        )


def problem_text(
    definition: Definition, workload: Workload, stored: Mapping[str, StoredTensor]
) -> ProblemText:
    """The problem file; `stored` are the inputs that come from files. The workload fits the definition."""
    taken = {*dir(builtins), CALLS, RUN, *_bound(ast.parse(definition.reference).body)}
    model, inputs, init = (_free(name, taken) for name in ("Model", "get_inputs", "get_init_inputs"))
    called = {axis: _free(axis, {*taken, model, inputs, init}) for axis in definition.axes}
    fixed = {item for name in stored for item in definition.inputs[name].shape or ()}
    loose = [axis for axis in definition.variable if axis not in fixed]
    names = ", ".join(definition.inputs)
    dtypes = {name: tensor.dtype for name, tensor in definition.outputs.items()}
    parts = [
        definition.reference.rstrip("\n"),
        f"import kernelwright.suites.exchange.calls as {CALLS}\n\n{OURS}run = {RUN}",
        "\n".join(f"{called[axis]} = {workload.axes[axis]}" for axis in loose),
        f"class {model}({CALLS}.Module):\n"
        f"    def forward({OURS}self, {names}):\n"
        f"        return {CALLS}.in_order({OURS}run({names}), {dtypes!r})",
        f"def {inputs}():\n" + _indented(_body(definition, workload, stored, called, loose)),
        f"def {init}():\n    return []",
    ]  # fmt: skip
    return ProblemText("\n\n\n".join(part for part in parts if part) + "\n", model, inputs, init)


def _indented(lines: Iterator[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _body(
    definition: Definition, workload: Workload, stored: Mapping[str, StoredTensor],
    called: Mapping[str, str], loose: list[str],
) -> Iterator[str]:  # fmt: skip
    """Lines of the function that makes the inputs."""
    for name, axis in definition.axes.items():
        if axis.kind != "expr" and name not in loose:
            yield f"{called[name]} = {axis.value if axis.kind == 'const' else workload.axes[name]}"
    for name, axis in definition.axes.items():
        if axis.expression is not None and axis.kind == "expr":
            yield f"{called[name]} = {CALLS}.whole({renamed(axis.expression, called)})"
    for constraint in over_axes(definition):
        yield f"{CALLS}.require({renamed(constraint, called)}, {constraint!r})"
    if any(each.kind == "custom" for each in workload.inputs.values()):
        yield from _custom(definition, workload, called)
        return
    yield "return ["
    for name in definition.inputs:
        yield f"    {_input(name, definition, workload, stored, called)},"
    yield "]"


def over_axes(definition: Definition) -> list[str]:
    """Constraints that speak of axes alone; the others are about values."""
    return [text for text in definition.constraints or () if _names(text) <= definition.axes.keys()]


def shape_text(shape: tuple[str, ...] | None, called: Mapping[str, str]) -> str:
    """A shape as Python; None for a number."""
    if shape is None:
        return "None"
    sizes = [str(int(item)) if item.isdecimal() else called[item] for item in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _input(
    name: str, definition: Definition, workload: Workload,
    stored: Mapping[str, StoredTensor], called: Mapping[str, str],
) -> str:  # fmt: skip
    tensor, given = definition.inputs[name], workload.inputs[name]
    if given.kind == "scalar":
        return _literal(given.value)
    shape = shape_text(tensor.shape, called)
    if name in stored:
        return f"{CALLS}.stored_tensor({stored[name].digest!r}, {shape}, {tensor.dtype!r})"
    return f"{CALLS}.random_tensor({shape}, {tensor.dtype!r})"


def _custom(definition: Definition, workload: Workload, called: Mapping[str, str]) -> Iterator[str]:
    """The call of the definition's own function, and scalars beside what it makes."""
    scalars = {name: _literal(each.value) for name, each in workload.inputs.items() if each.kind == "scalar"}
    pairs = [*((axis, called[axis]) for axis in definition.axes), *scalars.items()]
    given = ", ".join(f"{name!r}: {value}" for name, value in pairs)
    yield f"{OURS}given = {{{given}}}"
    yield f"{OURS}made = {definition.custom_inputs_entrypoint}({OURS}given, {CALLS}.default_device())"
    forms = ", ".join(
        f"{name!r}: ({shape_text(tensor.shape, called)}, {tensor.dtype!r})"
        for name, tensor in definition.inputs.items()
    )
    own = "{" + ", ".join(f"{name!r}: {value}" for name, value in scalars.items()) + "}"
    yield f"return {CALLS}.custom_inputs({OURS}made, {own}, {{{forms}}})"


def _literal(value: bool | int | float | None) -> str:
    text = repr(value)
    return text if text not in ("inf", "-inf", "nan") else f"float({text!r})"


def _names(text: str) -> set[str]:
    tree = ast.parse(text.strip(), mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def renamed(text: str, called: Mapping[str, str]) -> str:
    """An expression with other names for its axes."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = called.get(node.id, node.id)
    return ast.unparse(tree)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements at a file's top level bind, wherever they stand in it."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
