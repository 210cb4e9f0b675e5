"""Which floating types a reference computes with: what a kernel may round to without borrowing precision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import fx

from kernelwright.graph.capture import Captured


def float_types(captured: Captured) -> tuple[str, ...]:
    """Floating types of all values and of all types that operations are given, by torch's names, sorted.

    Of the graph as written and as decomposed, with the graphs inside of it. A type that only a cast names
    counts: the reference rounds to it.
    """
    found: set[str] = set()
    for whole in (captured.original, captured.graph_module):
        for part in whole.modules():
            if isinstance(part, fx.GraphModule):
                found.update(_names(value for node in part.graph.nodes for value in _values(node)))
    return tuple(sorted(found))


def _values(node: fx.Node) -> Iterator[Any]:
    yield from _leaves((node.meta.get("val"), node.args, node.kwargs))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _names(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        dtype = value.dtype if isinstance(value, torch.Tensor) else value
        if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
            yield str(dtype).removeprefix("torch.")
