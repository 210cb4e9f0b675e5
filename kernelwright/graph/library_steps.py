"""What a loop nest cannot say: ATen operations by name, in their out-variant, over named buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from kernelwright.core.errors import ProblemError

_LEFT_OUT = frozenset({"device", "layout", "pin_memory", "memory_format"})


@dataclass(frozen=True)
class LibraryStep:
    """One library call, in the words of `core.plan.Library`."""

    op: str
    """Such as `aten.mm.out`."""
    inputs: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()


def library_step(
    node: fx.Node, argument: Callable[[fx.Node], dict[str, Any]], outputs: tuple[str, ...]
) -> LibraryStep:
    """`node` as a library call; `argument` says which buffer, or view of one, holds an operand."""

    def plain(value: Any) -> Any:
        if isinstance(value, fx.Node):
            return argument(value)
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return {"dtype": str(value).removeprefix("torch.")} if isinstance(value, torch.dtype) else value

    keywords = {name: plain(value) for name, value in node.kwargs.items() if name not in _LEFT_OUT}
    return LibraryStep(out_variant(node), tuple(plain(arg) for arg in node.args), keywords, outputs)


def out_variant(node: fx.Node) -> str:
    """Name of the overload that writes into given tensors; ProblemError if the operation has none."""
    schema = getattr(node.target, "_schema", None)
    packet = getattr(node.target, "overloadpacket", None)
    if schema is None or packet is None or not schema.name.startswith("aten::"):
        raise ProblemError(f"operation {node.target} has no out-variant; only ATen operations can be planned")
    wanted = [(a.name, str(a.type)) for a in schema.arguments if a.name not in _LEFT_OUT]
    for overload in packet.overloads():
        arguments = getattr(packet, overload)._schema.arguments
        given = [(a.name, str(a.type)) for a in arguments if not a.is_out and a.name not in _LEFT_OUT]
        if any(a.is_out for a in arguments) and given == wanted:
            return f"{schema.name.replace('::', '.')}.{overload}"
    raise ProblemError(f"operation {node.target} has no out-variant, so no plan can hold it")


def results(node: fx.Node) -> int:
    """Number of tensors that the operation returns."""
    value = node.meta["val"]
    return len(value) if isinstance(value, list | tuple) else 1
