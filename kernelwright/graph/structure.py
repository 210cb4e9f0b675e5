"""The structure of a graph without sizes: equal for the same computation at other sizes."""

from __future__ import annotations

import hashlib
from typing import Any

import torch
from torch import fx


def structure(graph_module: fx.GraphModule) -> str:
    """Hash of which operation reads which, leaving out sizes and literals (they vary with axes)."""
    number = {node: i for i, node in enumerate(graph_module.graph.nodes)}
    lines = []
    for node in graph_module.graph.nodes:
        kept = [_structural(value, number) for value in _unsized(node)]
        lines.append(f"{node.op} {node.target if node.op == 'call_function' else ''} {kept}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


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
