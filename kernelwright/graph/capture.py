"""`capture`: a module becomes a functional ATen graph of small operations, and who each placeholder is.

`torch.export` traces `module(*args)` without running it. Two graphs are kept. `original` is
functional but still has the reference's own operations (`layer_norm`, `dropout`): the float64
oracle runs it. `graph_module` is decomposed (`graph.decompose`) for the loop form.

What a trace cannot hold (control flow on values, custom operators without a fake implementation)
raises `ProblemError`. A capture serves one set of sizes; two captures of a problem at other sizes
are the same computation if their `signature` is equal.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError, boundary
from kernelwright.graph.decompose import decompositions

PlaceholderKind = Literal["input", "weight", "constant"]
_OUTPUT_NAME = re.compile(r"out\d*")


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
    program = _export(module, args)
    leaf_names = input_names(module, args)
    owners = _owners(module)
    functional = program if _is_functional(program) else _decomposed(program, {})
    small = _decomposed(functional, decompositions())
    _drop_assertions(functional.graph_module)
    _drop_assertions(small.graph_module)
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
    return structure(_export(module, tuple(args)).graph_module)


def input_names(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """A name for each leaf of `args`: the parameter's, with `_0`, `_key` for what it contains.

    A name that a weight or an output has gets a `_` behind it: names of a problem's tensors differ.
    """
    forward, taken = function, set()
    if isinstance(function, torch.nn.Module):
        forward, taken = function.forward, set(module_tensors(function))
    names: list[str] = []
    for parameter, value in zip(_parameters(forward, len(args)), args, strict=False):
        for path, _ in pytree.tree_flatten_with_path(value)[0]:
            name = "_".join([parameter, *(_key_text(key) for key in path)])
            while name in taken or _OUTPUT_NAME.fullmatch(name):
                name += "_"
            taken.add(name)
            names.append(name)
    return names


def draws_random(node: fx.Node) -> bool:
    """Whether the node takes numbers from torch's generator."""
    tags = getattr(node.target, "tags", ())
    return node.op == "call_function" and torch.Tag.nondeterministic_seeded in tags and _really_random(node)


def structure(graph_module: fx.GraphModule) -> str:
    """Hash of which operation reads which, leaving out sizes and literals (they vary with axes)."""
    number = {node: i for i, node in enumerate(graph_module.graph.nodes)}
    lines = []
    for node in graph_module.graph.nodes:
        kept = [_structural(value, number) for value in _unsized(node)]
        lines.append(f"{node.op} {node.target if node.op == 'call_function' else ''} {kept}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


class _Function(torch.nn.Module):
    """A plain function as a module, because torch.export takes only modules."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def _export(module: Callable[..., Any], args: tuple[Any, ...]) -> ExportedProgram:
    traced = module if isinstance(module, torch.nn.Module) else _Function(module)
    with boundary(ProblemError, "torch.export cannot trace the reference"), torch.no_grad(), _quiet():
        program = torch.export.export(traced, args, strict=False)
    if any(_loses_mutation(node) for node in program.graph_module.graph.nodes):
        raise ProblemError(
            "torch.export loses the running statistics of an instance norm; it is not captured"
        )
    return program


def _decomposed(program: ExportedProgram, table: dict[Any, Any]) -> ExportedProgram:
    with boundary(ProblemError, "the traced reference cannot be decomposed"), torch.no_grad(), _quiet():
        decomposed: ExportedProgram = program.run_decompositions(table)
        return decomposed


def _is_functional(program: ExportedProgram) -> bool:
    """Whether no operation of the graph as traced writes to its operands, openly or not, or draws."""
    nodes = [node for node in program.graph_module.graph.nodes if node.op == "call_function"]
    return not any(_writes(node) or draws_random(node) for node in nodes)


def _writes(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    hidden = "batch_norm" in str(node.target) or "dropout" in str(node.target)
    return hidden or (schema is not None and schema.is_mutable)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings, and none of the graphs that torch logs when it cannot trace: the error says it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _loses_mutation(node: fx.Node) -> bool:
    """torch.export keeps `instance_norm` whole and does not see that it writes its statistics."""
    if node.target is not torch.ops.aten.instance_norm.default:
        return False
    return node.args[3] is not None and bool(node.args[5])


def _drop_assertions(graph_module: fx.GraphModule) -> None:
    """Take out checks that torch adds while it traces; they compute nothing that is returned."""
    for node in reversed(graph_module.graph.nodes):
        if node.op == "call_function" and "_assert" in str(node.target) and not node.users:
            graph_module.graph.erase_node(node)
    graph_module.recompile()


def _parameters(forward: Callable[..., Any], count: int) -> Iterator[str]:
    """Names of the first `count` positional parameters; `*args` gives args_0, args_1, ..."""
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    given = 0
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL or given == count:
            break
        yield parameter.name
        given += 1
    rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    for i in range(count - given):
        yield f"{rest}_{i}"


def _key_text(key: Any) -> str:
    return str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))))


def _owners(module: Callable[..., Any]) -> dict[int, str]:
    """Canonical qualified name of each parameter, buffer and plain tensor attribute, by identity."""
    if not isinstance(module, torch.nn.Module):
        return {}
    return {id(tensor): name for name, tensor in reversed(list(module_tensors(module).items()))}


def module_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All tensors that a module holds: parameters, buffers, then plain tensor attributes; each once."""
    found: dict[str, torch.Tensor] = dict(module.named_parameters())
    found.update(module.named_buffers())
    seen = {id(tensor) for tensor in found.values()}
    for prefix, child in module.named_modules():
        for name, value in vars(child).items():
            if isinstance(value, torch.Tensor) and id(value) not in seen:
                seen.add(id(value))
                found[f"{prefix}.{name}" if prefix else name] = value
    return found


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


def _really_random(node: fx.Node) -> bool:
    """An operation with a dropout draws nothing where its probability is zero or it is not in training."""
    given = {**dict(zip(_argument_names(node), node.args, strict=False)), **node.kwargs}
    names = [name for name in ("p", "dropout", "dropout_p") if name in given]
    if not names:
        return "dropout" not in _argument_names(node) and "dropout_p" not in _argument_names(node)
    return bool(given[names[0]]) and given.get("train", given.get("training")) is not False


def _argument_names(node: fx.Node) -> list[str]:
    return [argument.name for argument in node.target._schema.arguments]  # type: ignore[union-attr]


def _unsized(node: fx.Node) -> list[Any]:
    """The arguments of a node without those that hold sizes or number literals."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return list(node.args)
    named = [*zip(schema.arguments, node.args, strict=False)]
    named += [
        (argument, node.kwargs[argument.name])
        for argument in schema.arguments
        if argument.name in node.kwargs
    ]
    return [value for argument, value in named if not _varies(argument, value)]


def _varies(argument: Any, value: Any) -> bool:
    """Whether an argument holds a size, or a number that may have been computed from one."""
    kind = _innermost(argument.real_type)
    literal = isinstance(value, int | float) and not isinstance(value, bool)
    return kind == "SymIntType" or (literal and kind != "IntType")


def _innermost(kind: Any) -> str:
    """Kind of a schema type's elements; sizes are the only symbolic integers."""
    while kind.kind() in ("OptionalType", "ListType"):
        kind = kind.getElementType()
    return str(kind.kind())


def _structural(value: Any, number: dict[fx.Node, int]) -> Any:
    if isinstance(value, fx.Node):
        return f"%{number[value]}"
    if isinstance(value, list | tuple):
        return [_structural(item, number) for item in value]
    return "device" if isinstance(value, torch.device) else str(value)
