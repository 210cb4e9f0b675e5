"""`capture`: a module becomes a functional ATen graph of small operations, and who each placeholder is.

`torch.export` traces `module(*args)` without running it. Two graphs are kept. `original` is
functional but still has the reference's own operations (`layer_norm`, `dropout`): the float64
oracle runs it. `graph_module` is decomposed (`graph.decompose`) for the loop form.

What a trace cannot hold (control flow on values, custom operators without a fake implementation)
raises `ProblemError`. A capture serves one set of sizes; two captures of a problem at other sizes
are the same computation if their `signature` is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind

from kernelwright.graph.decompose import decompositions
from kernelwright.graph.exporting import decomposed, draws_random, drop_assertions, export, is_functional
from kernelwright.graph.names import input_names, module_tensors
from kernelwright.graph.structure import structure

__all__ = ["Captured", "Placeholder", "capture", "input_names", "module_tensors", "trace_structure"]

PlaceholderKind = Literal["input", "weight", "constant"]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """What a placeholder of the graph stands for."""

    kind: PlaceholderKind
    index: int = -1
    """`input`: number among the tensor inputs, in the order of `forward`'s flattened arguments."""
    name: str = ""
    """`weight`: qualified name; `input`: name of the argument; `constant`: the graph's own name."""
    tensor: torch.Tensor | None = None
    """`constant`: its value."""


@dataclass(frozen=True)
class Captured:
    """A reference as a graph.

    `mean.dim` stays an operation of the decomposed graph (its divisor is a product of sizes);
    variance is two passes of it.
    """

    graph_module: fx.GraphModule
    """Functional, decomposed to pointwise operations, reductions, views, and library operations."""
    placeholders: dict[str, Placeholder]
    """By node name, in order; scalar arguments have none."""
    outputs: tuple[Any, ...]
    """A node, or the constant itself (int, float, None), for each leaf of what the reference returns."""
    mutations: dict[str, fx.Node]
    """Name of a weight or input to the node that holds its new value, sorted by name."""
    signature: str
    """Hash of the structure without sizes and without literals: equal for the same graph at other sizes."""
    random: bool
    """Whether an operation draws from torch's generator."""
    returned: tuple[str, ...]
    """For each value that both graphs return: the name of the mutated tensor it is, or "" for an output."""
    original: fx.GraphModule = field(repr=False)
    """Functional, before decomposition; its placeholders are `original_placeholders`."""
    original_placeholders: dict[str, Placeholder] = field(repr=False)

    @property
    def nodes(self) -> list[fx.Node]:
        """The operations, in order, without placeholders and the output."""
        return [node for node in self.graph_module.graph.nodes if node.op == "call_function"]


def capture(module: Callable[..., Any], args: Sequence[Any]) -> Captured:
    """Capture `module(*args)`. A plain function is taken as well as an `nn.Module`.

    `args` may be on the meta device, like the module's weights. ProblemError if torch.export
    cannot trace it.
    """
    args = tuple(args)
    program = export(module, args)
    leaf_names = input_names(module, args)
    owners = _owners(module)
    functional = program if is_functional(program) else decomposed(program, {})
    small = decomposed(functional, decompositions())
    drop_assertions(functional.graph_module)
    drop_assertions(small.graph_module)
    small.graph_module.graph.eliminate_dead_code()
    small.graph_module.recompile()
    placeholders = _placeholders(small, leaf_names, owners)
    returned = _returned(small, placeholders)
    outputs, mutations = _results(small, returned)
    return Captured(
        graph_module=small.graph_module,
        placeholders=placeholders,
        outputs=outputs,
        mutations=mutations,
        signature=structure(small.graph_module),
        random=any(draws_random(node) for node in functional.graph_module.graph.nodes),
        returned=returned,
        original=functional.graph_module,
        original_placeholders=_placeholders(functional, leaf_names, owners),
    )


def trace_structure(module: Callable[..., Any], args: Sequence[Any]) -> str:
    """`structure` of the graph as traced, before decomposition: a cheap test for the same graph."""
    return structure(export(module, tuple(args)).graph_module)


def _owners(module: Callable[..., Any]) -> dict[int, str]:
    """Canonical qualified name of each parameter, buffer and plain tensor attribute, by identity."""
    if not isinstance(module, torch.nn.Module):
        return {}
    return {id(tensor): name for name, tensor in reversed(list(module_tensors(module).items()))}


def _placeholders(
    program: ExportedProgram, leaf_names: list[str], owners: dict[int, str]
) -> dict[str, Placeholder]:
    found: dict[str, Placeholder] = {}
    leaves = iter(leaf_names)
    tensors = 0
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            name = next(leaves)
            if not isinstance(spec.arg, ConstantArgument):
                found[spec.arg.name] = Placeholder("input", index=tensors, name=name)
                tensors += 1
        else:
            found[spec.arg.name] = _held(program, spec, owners)
    return found


def _held(program: ExportedProgram, spec: InputSpec, owners: dict[int, str]) -> Placeholder:
    """A parameter, buffer or constant; a constant that the module holds is a weight."""
    target = str(spec.target)
    tensor = program.state_dict.get(target, program.constants.get(target))
    name = owners.get(id(tensor), target)
    if spec.kind is InputKind.CONSTANT_TENSOR and id(tensor) not in owners:
        return Placeholder("constant", name=target, tensor=tensor)
    return Placeholder("weight", name=name)


def _returned(program: ExportedProgram, placeholders: dict[str, Placeholder]) -> tuple[str, ...]:
    signature = program.graph_signature
    by_target = {str(spec.target): spec.arg.name for spec in signature.input_specs if spec.target}
    names = []
    for spec in signature.output_specs:
        mutated = by_target.get(str(spec.target), str(spec.target))
        names.append("" if spec.kind is OutputKind.USER_OUTPUT else placeholders[mutated].name)
    return tuple(names)


def _results(
    program: ExportedProgram, returned: tuple[str, ...]
) -> tuple[tuple[Any, ...], dict[str, fx.Node]]:
    (values,) = next(node for node in program.graph_module.graph.nodes if node.op == "output").args
    pairs = list(zip(returned, values, strict=True))
    mutations = {name: value for name, value in sorted(pairs, key=lambda pair: pair[0]) if name}
    return tuple(value for name, value in pairs if not name), mutations
