"""`Definition`: what is to be computed, as flashinfer-bench and SOL-ExecBench write it.

Axes are fixed (`const`), given by each workload (`var`) or computed (`expr`); tensors are lists of axes;
the reference is the text of a Python file with a function `run`, whose parameters are the inputs in order.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernelwright.suites.exchange import arithmetic
from kernelwright.suites.exchange.document import Document, Part, read_text

RUN = "run"
OURS = "kernelwright_"
"""How names begin that the texts written from a definition use for themselves."""
Text = Annotated[str, Field(min_length=1)]


class Axis(Part):
    """A size: fixed, given by a workload, or computed from others."""

    type: Literal["const", "var", "expr"] | None = None
    value: Annotated[int, Field(ge=0)] | None = None
    expression: Text | None = None

    @property
    def kind(self) -> str:
        """The type; where none is written, the one whose field is there."""
        if self.type is not None:
            return self.type
        return "const" if self.value is not None else "expr" if self.expression is not None else "var"

    @model_validator(mode="after")
    def _whole(self) -> Axis:
        if self.kind == "const" and self.value is None:
            raise ValueError("an axis of type const needs a 'value'")
        if self.kind == "expr":
            arithmetic.parsed(self.expression or "")
        return self


class Tensor(Part):
    """An input or output: element type and shape over axes; no shape means a Python number."""

    shape: tuple[Text, ...] | None
    dtype: Text


class Definition(Document):
    """What is to be computed."""

    name: Text
    op_type: Text | None = None
    axes: dict[Text, Axis]
    inputs: dict[Text, Tensor]
    outputs: Annotated[dict[Text, Tensor], Field(min_length=1)]
    reference: Text
    custom_inputs_entrypoint: Text | None = None
    """A function of the reference that makes all inputs from axes and scalars."""
    constraints: tuple[Text, ...] | None = None
    """Expressions that hold for every workload."""

    @property
    def variable(self) -> tuple[str, ...]:
        """Axes that a workload gives."""
        return tuple(name for name, axis in self.axes.items() if axis.kind == "var")

    def sizes(self, given: Mapping[str, int]) -> dict[str, int]:
        """Every axis at these values of the variable ones; ValueError, one line, if one has no value."""
        found = {name: axis.value for name, axis in self.axes.items() if axis.value is not None}
        for name in self.variable:
            if name not in given:
                raise ValueError(f"no value for axis '{name}'; it gives {', '.join(given) or 'none'}")
            found[name] = given[name]
        for name, axis in self.axes.items():
            if axis.kind == "expr" and axis.expression is not None:
                found[name] = arithmetic.size(axis.expression, found)
        return found

    def shape(self, tensor: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """A tensor's shape; an entry that is a number stands for itself."""
        return tuple(int(item) if item.isdecimal() else sizes[item] for item in tensor.shape or ())

    @model_validator(mode="after")
    def _names_fit(self) -> Definition:
        for name in (*self.axes, *self.inputs, *self.outputs):
            if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
                raise ValueError(f"'{name}' is no name that Python could use; rename it")
            if name.startswith(("__", OURS)):
                raise ValueError(f"'{name}' begins as names that are taken do (__, {OURS}); rename it")
        both = [name for name in self.inputs if name in self.outputs]
        if both:
            raise ValueError(f"'{both[0]}' is an input and an output; give each a name of its own")
        for name, tensor in {**self.inputs, **self.outputs}.items():
            unknown = [i for i in tensor.shape or () if i not in self.axes and not i.isdecimal()]
            if unknown:
                known = ", ".join(self.axes) or "none"
                raise ValueError(f"'{name}' has axis '{unknown[0]}'; the axes are: {known}")
        return self

    @model_validator(mode="after")
    def _reference_fits(self) -> Definition:
        functions = _functions(self.reference)
        if RUN not in functions:
            raise ValueError(f"'reference' defines {', '.join(functions) or 'no function'}; it needs '{RUN}'")
        taken = [each.arg for each in (*functions[RUN].args.posonlyargs, *functions[RUN].args.args)]
        if len(taken) != len(self.inputs) and functions[RUN].args.vararg is None:
            raise ValueError(f"'{RUN}' takes {len(taken)} arguments; 'inputs' has {len(self.inputs)}")
        custom = self.custom_inputs_entrypoint
        if custom is not None and custom not in functions:
            raise ValueError(f"'reference' has no function '{custom}', which is to make the inputs")
        for constraint in self.constraints or ():
            _syntax(constraint, "eval", f"constraint {constraint!r}")
        return self


def read_definition(path: Path) -> Definition:
    """The definition in a file; UsageError, one line, if it is none."""
    return Definition.parsed(read_text(path, "definition"), str(path))


def _functions(text: str) -> dict[str, ast.FunctionDef]:
    """Functions at the top level of a Python text, by name."""
    tree = _syntax(text, "exec", "'reference'")
    assert isinstance(tree, ast.Module)
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _syntax(text: str, mode: Literal["exec", "eval"], what: str) -> ast.AST:
    try:
        return ast.parse(text.strip() if mode == "eval" else text, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise ValueError(
            f"{what} is no Python: {getattr(error, 'msg', error)}" + (f" (line {line})" if line else "")
        ) from error
