"""torch.export as this package uses it: no gradients, no noise, and what it gets wrong refused."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from kernelwright.core.errors import ProblemError, boundary


def draws_random(node: fx.Node) -> bool:
    """Whether the node takes numbers from torch's generator."""
    tags = getattr(node.target, "tags", ())
    return node.op == "call_function" and torch.Tag.nondeterministic_seeded in tags and _really_random(node)


class _Function(torch.nn.Module):
    """A plain function as a module, because torch.export takes only modules."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def export(module: Callable[..., Any], args: tuple[Any, ...]) -> ExportedProgram:
    """Trace `module(*args)` on shapes. ProblemError if it cannot be, or if the trace would lose something."""
    traced = module if isinstance(module, torch.nn.Module) else _Function(module)
    with boundary(ProblemError, "torch.export cannot trace the reference"), torch.no_grad(), _quiet():
        program = torch.export.export(traced, args, strict=False)
    if any(_loses_mutation(node) for node in program.graph_module.graph.nodes):
        raise ProblemError(
            "torch.export loses the running statistics of an instance norm; it is not captured"
        )
    return program


def decomposed(program: ExportedProgram, table: dict[Any, Any]) -> ExportedProgram:
    """The program made functional, with the operations in `table` taken apart."""
    with boundary(ProblemError, "the traced reference cannot be decomposed"), torch.no_grad(), _quiet():
        decomposed: ExportedProgram = program.run_decompositions(table)
        return decomposed


def is_functional(program: ExportedProgram) -> bool:
    """Whether no operation of the graph as traced writes to its operands, openly or not, or draws."""
    nodes = [node for node in program.graph_module.graph.nodes if node.op == "call_function"]
    return not any(_writes(node) or draws_random(node) for node in nodes)


def _writes(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    hidden = "batch_norm" in str(node.target) or "dropout" in str(node.target)
    return hidden or (schema is not None and schema.is_mutable)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings, and none of the graphs that torch logs and prints when it cannot trace."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _loses_mutation(node: fx.Node) -> bool:
    """torch.export keeps `instance_norm` whole and does not see that it writes its statistics."""
    if node.target is not torch.ops.aten.instance_norm.default:
        return False
    return node.args[3] is not None and bool(node.args[5])


def drop_assertions(graph_module: fx.GraphModule) -> None:
    """Take out checks that torch adds while it traces; they compute nothing that is returned."""
    for node in reversed(graph_module.graph.nodes):
        if node.op == "call_function" and "_assert" in str(node.target) and not node.users:
            graph_module.graph.erase_node(node)
    graph_module.recompile()


def _really_random(node: fx.Node) -> bool:
    """An operation with a dropout draws nothing where its probability is zero or it is not in training."""
    given = {**dict(zip(_argument_names(node), node.args, strict=False)), **node.kwargs}
    names = [name for name in ("p", "dropout", "dropout_p") if name in given]
    if not names:
        return "dropout" not in _argument_names(node) and "dropout_p" not in _argument_names(node)
    return bool(given[names[0]]) and given.get("train", given.get("training")) is not False


def _argument_names(node: fx.Node) -> list[str]:
    return [argument.name for argument in node.target._schema.arguments]  # type: ignore[union-attr]
