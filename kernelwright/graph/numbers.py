"""The numbers in a partition or a captured graph that sizes can move, apart from all else.

`numbers_of` returns them in a fixed order with a text of the rest, so that two partitions with equal
texts are the same computation at other sizes; `with_numbers` puts expressions in their place. Numbers
are sizes, strides, offsets, and integer arguments of library calls. A literal that is computed with
(`Const`) belongs to the rest: if it moves with a size, the texts differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from kernelwright.core.expr import Expr
from kernelwright.core.plan import Buffer
from kernelwright.graph.capture import Captured, Placeholder
from kernelwright.graph.cut import CopyStep, Partition
from kernelwright.graph.library_steps import LibraryStep
from kernelwright.graph.loops import Access, Dim, Load, Region

Change = Callable[[int], Expr]
Numbers = tuple[str, list[int]]
"""A text of what is no number, and the numbers in order."""


def numbers_of(partition: Partition) -> Numbers:
    """The numbers of a partition at literal sizes; its domain is left out."""
    found: list[int] = []

    def taken(value: int) -> Expr:
        found.append(value)
        return 0

    rest = _changed(partition, taken)
    return repr((rest.steps, rest.buffers)), found


def with_numbers(partition: Partition, exprs: Iterable[Expr], domain: str) -> Partition:
    """The partition with expressions for its numbers, in the order of `numbers_of`, and another domain.

    A dimension keeps its extent.
    """
    following = iter(exprs)
    return replace(_changed(partition, lambda _: next(following)), domain=domain)


def _changed(partition: Partition, change: Change) -> Partition:
    return replace(
        partition,
        steps=tuple(_step(step, change) for step in partition.steps),
        buffers=tuple(_buffer(buffer, change) for buffer in partition.buffers),
    )


def _buffer(buffer: Buffer, change: Change) -> Buffer:
    return buffer.model_copy(update={"shape": tuple(change(int(size)) for size in buffer.shape)})


def _step(step: Region | LibraryStep | CopyStep, change: Change) -> Region | LibraryStep | CopyStep:
    match step:
        case Region():
            nodes = (
                replace(node, access=_access(node.access, change)) if isinstance(node, Load) else node
                for node in step.nodes
            )
            return replace(
                step,
                dims=tuple(_dim(dim, change) for dim in step.dims),
                nodes=tuple(nodes),
                stores=tuple(replace(store, access=_access(store.access, change)) for store in step.stores),
            )
        case LibraryStep():
            keywords = {name: _argument(value, change) for name, value in step.keywords.items()}
            inputs = tuple(_argument(value, change) for value in step.inputs)
            return replace(step, inputs=inputs, keywords=keywords)
    return step


def _dim(dim: Dim, change: Change) -> Dim:
    size = change(dim.extent)
    return Dim(dim.name, size, size if isinstance(size, int) else dim.extent)


def _access(access: Access, change: Change) -> Access:
    strides = tuple(change(int(stride)) for stride in access.strides)
    return Access(access.buffer, strides, change(int(access.offset)))


def _argument(value: Any, change: Change) -> Any:
    """An argument of a library call; an integer that becomes an expression is marked as one."""
    match value:
        case {"buffer": name, "shape": shape, "strides": strides, "offset": offset}:
            return {
                "buffer": name,
                "shape": [change(size) for size in shape],
                "strides": [change(stride) for stride in strides],
                "offset": change(offset),
            }
        case list() | tuple():
            return [_argument(item, change) for item in value]
        case int() if not isinstance(value, bool):
            changed = change(value)
            return {"expr": changed} if isinstance(changed, str) else changed
    return value


def graph_numbers(captured: Captured) -> Numbers:
    """The numbers of a captured graph: shapes of all values, and integers that an operation is given."""
    found: list[int] = []
    nodes = list(captured.graph_module.graph.nodes)
    order = {node: at for at, node in enumerate(nodes)}
    lines = []
    for node in nodes:
        target = node.target if node.op == "call_function" else _held(captured.placeholders.get(node.name))
        given = _values((node.args, node.kwargs), order, found)
        lines.append(f"{node.op} {target} {given} -> {_values(node.meta.get('val'), order, found)}")
    return "\n".join(lines), found


def _held(held: Placeholder | None) -> str:
    """What a placeholder stands for; of a constant, its value."""
    if held is None:
        return ""
    value: int | float | str = ""
    if held.tensor is not None and held.tensor.numel() == 1 and not held.tensor.is_meta:
        value = held.tensor.item()
    return f"{held.kind} {held.index} {held.name} {value}"


def _values(value: Any, order: dict[fx.Node, int], found: list[int]) -> str:
    """Text of an argument or a result; its integers go to `found`."""
    match value:
        case fx.Node():
            return f"%{order[value]}"
        case torch.Tensor():
            return f"{value.dtype} {_values(tuple(value.shape), order, found)}"
        case list() | tuple():
            return f"[{', '.join(_values(item, order, found) for item in value)}]"
        case dict():
            return f"{{{', '.join(f'{k}: {_values(v, order, found)}' for k, v in value.items())}}}"
        case int() if not isinstance(value, bool):
            found.append(value)
            return "#"
        case torch.device():
            return "device"
    return repr(value)
