"""What a graph moves and computes: bytes as written, operations, and the bytes no kernel can avoid.

`compulsory_bytes` is a lower bound that a rejecting floor may rest on, so it errs on the low side:
outputs and mutated tensors, and of every input or weight only the share that they provably depend
on. Elements behind a gather, a mask's branch or a factor of zero are not counted. Caches, repeated
reads and data that happens to be zero are not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from kernelwright.graph.capture import Captured

aten: Any = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one captured graph, at its own sizes."""

    bytes_as_written: int
    """Every operation of the graph as written reads its operands and writes its results; views are free."""
    flops: int
    """Products and convolutions by formula, else one per element computed or reduced."""
    compulsory_bytes: int
    """Outputs, and the inputs and weights that they provably depend on."""
    fused_bytes: int
    """If all but library operations were fused into one pass: their operands and results once."""


def cost(captured: Captured) -> Cost:
    """Count bytes and operations of a captured graph, from shapes alone."""
    flops, fused_bytes = work(captured)
    return Cost(
        bytes_as_written=sum(_moved(node) for node in _operations(captured.original)),
        flops=flops,
        compulsory_bytes=_compulsory(captured),
        fused_bytes=fused_bytes,
    )


def work(captured: Captured) -> tuple[int, int]:
    """`flops` and `fused_bytes` of the cost."""
    return sum(_flops(node) for node in captured.nodes), _fused(captured)


def needed(captured: Captured) -> dict[fx.Node, float]:
    """For each node of the decomposed graph, the share of its elements that a result provably depends on."""
    share: dict[fx.Node, float] = {}
    results = {
        value for value in (*captured.outputs, *captured.mutations.values()) if isinstance(value, fx.Node)
    }
    for node in reversed(captured.graph_module.graph.nodes):
        if node.op != "output":
            share[node] = 1.0 if node in results else _from_users(node, share)
    return share


def nbytes(value: Any) -> int:
    """Bytes of memory that a tensor's elements occupy; an expanded dimension occupies one element."""
    if isinstance(value, list | tuple):
        return sum(nbytes(item) for item in value)
    if not isinstance(value, torch.Tensor):
        return 0
    sizes = zip(value.shape, value.stride(), strict=True)
    return math.prod(int(size) if stride or not size else 1 for size, stride in sizes) * value.element_size()


def is_view(node: fx.Node) -> bool:
    """Whether the operation only names memory that exists: views, and items of a tuple."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return True
    return any(result.alias_info is not None for result in schema.returns)


def is_pointwise(node: fx.Node) -> bool:
    """Whether torch tags the operation as element by element."""
    return torch.Tag.pointwise in getattr(node.target, "tags", ())


_REDUCTIONS = {aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default, aten.prod.dim_int}
_CREATION = {aten.full.default, aten.full_like.default, aten.arange.start_step, aten.clone.default,
             aten._to_copy.default, aten.scalar_tensor.default}  # fmt: skip


def is_fusable(node: fx.Node) -> bool:
    """Whether a loop nest can hold the operation."""
    return is_view(node) or is_pointwise(node) or node.target in _REDUCTIONS or node.target in _CREATION


def _operations(graph_module: fx.GraphModule) -> Iterator[fx.Node]:
    return (node for node in graph_module.graph.nodes if node.op == "call_function")


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, fx.Node) else None


def _moved(node: fx.Node) -> int:
    if is_view(node):
        return 0
    return nbytes(_value(node)) + sum(nbytes(_value(operand)) for operand in node.all_input_nodes)


def _elements(value: Any) -> int:
    if isinstance(value, list | tuple):
        return sum(_elements(item) for item in value)
    return value.numel() if isinstance(value, torch.Tensor) else 0


def _flops(node: fx.Node) -> int:
    from torch.utils.flop_counter import flop_registry

    formula = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if formula is not None:
        args, kwargs = fx.map_arg((node.args, node.kwargs), _value)
        return int(formula(*args, **kwargs, out_val=_value(node)))
    if is_view(node) or node.target in _CREATION:
        return 0
    operands = [_elements(_value(operand)) for operand in node.all_input_nodes]
    return max([_elements(_value(node)), *operands])


def _compulsory(captured: Captured) -> int:
    share = needed(captured)
    written = {_base(node): node for node in _results(captured)}
    total = sum(nbytes(_value(node)) for base, node in written.items() if base.op != "placeholder")
    return total + sum(math.floor(share[node] * nbytes(_value(node))) for node in _held(captured))


def _fused(captured: Captured) -> int:
    share = needed(captured)
    results = {_base(node) for node in _results(captured)}
    held = set(_held(captured))
    total = 0.0
    for node in captured.graph_module.graph.nodes:
        computed = node.op == "call_function" and not is_view(node)
        if not computed and node not in held:
            continue
        library = [not is_fusable(reader) for reader in _readers(node)]
        stored = node in held or not is_fusable(node)
        total += nbytes(_value(node)) * (
            sum(library) + (computed and (stored or any(library) or node in results))
        )
        total += nbytes(_value(node)) * share[node] * (stored and not all(library))
    return math.floor(total)


def _results(captured: Captured) -> list[fx.Node]:
    values = (*captured.outputs, *captured.mutations.values())
    return [value for value in values if isinstance(value, fx.Node)]


def _held(captured: Captured) -> list[fx.Node]:
    """Placeholders of tensors."""
    nodes = captured.graph_module.graph.nodes
    return [node for node in nodes if node.op == "placeholder" and node.name in captured.placeholders]


def _base(node: fx.Node) -> fx.Node:
    """The node whose memory a view names."""
    while node.op == "call_function" and is_view(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def _readers(node: fx.Node) -> Iterator[fx.Node]:
    """Operations that read a node's memory, through views."""
    for user in node.users:
        if user.op == "call_function" and is_view(user):
            yield from _readers(user)
        elif user.op == "call_function":
            yield user


_SHAPE_ONLY = {aten.full_like.default, aten.zeros_like.default, aten.ones_like.default,
               aten.empty_like.default, aten.new_zeros.default, aten.new_ones.default, aten.new_full.default,
               aten.new_empty.default}  # fmt: skip
_GATHERS = {aten.embedding.default, aten.index_select.default, aten.gather.default, aten.index.Tensor,
            aten.take.default, aten.masked_select.default, aten.masked_fill.Scalar,
            aten.masked_fill.Tensor}  # fmt: skip
_TRIANGLES = {aten.tril.default, aten.triu.default}
_PARTS = {aten.slice.Tensor, aten.select.int}


def _from_users(node: fx.Node, share: dict[fx.Node, float]) -> float:
    users = [user for user in node.users if user.op == "call_function"]
    best = max((share[user] * _passed(user, node) for user in users), default=0.0)
    return max(best, _parts(node, [user for user in users if user.target in _PARTS], share))


def _passed(user: fx.Node, node: fx.Node) -> float:
    """Share of `node` that `user` needs if all of `user` is needed: a lower bound."""
    target, args = user.target, user.args
    if target in _SHAPE_ONLY or (target in _GATHERS and args[0] is node):
        return 0.0
    if target is aten.where.self:
        return float(args[0] is node)
    if target in (aten.sub.Tensor, aten.div.Tensor, aten.ne.Tensor, aten.eq.Tensor) and args[0] is args[1]:
        return 0.0
    if target in (aten.mul.Tensor, aten.mul.Scalar, aten.pow.Tensor_Scalar) and args[1] == 0:
        return 0.0
    if target in _PARTS or target in _TRIANGLES:
        whole = _elements(_value(node))
        return (
            min(1.0, _elements(_value(user)) / whole / (2 if target in _TRIANGLES else 1)) if whole else 0.0
        )
    return _window_share(user, node)


def _window_share(user: fx.Node, node: fx.Node) -> float:
    """Convolutions and poolings whose stride exceeds their window skip elements."""
    if ("conv" not in str(user.target) and "pool" not in str(user.target)) or user.args[0] is not node:
        return 1.0
    if user.target is not aten.convolution.default:
        window, strides = user.args[1], user.args[2] if len(user.args) > 2 else ()
    else:
        window, strides = _value(user.args[1]).shape[2:], user.args[3]
    if (
        not isinstance(window, list | tuple)
        or not isinstance(strides, list | tuple)
        or user.args[6:7] == (True,)
    ):
        return 0.0 if not isinstance(window, list | tuple) else 1.0
    return math.prod(min(1.0, int(w) / int(s)) for w, s in zip(window, strides, strict=False))


def _parts(node: fx.Node, parts: list[fx.Node], share: dict[fx.Node, float]) -> float:
    """Slices that do not overlap add up: the halves of a gated tensor."""
    covered: dict[int, list[tuple[int, int, float]]] = {}
    for part in parts:
        span = _span(part, _value(node))
        if span is not None:
            covered.setdefault(span[0], []).append((span[1], span[2], share[part]))
    return max(
        (_disjoint(spans) / int(_value(node).shape[dim]) for dim, spans in covered.items()), default=0.0
    )


def _span(part: fx.Node, whole: torch.Tensor) -> tuple[int, int, int] | None:
    """(dimension, first, past the last) of a slice with step 1 or of a select."""
    dim: Any = part.args[1] if len(part.args) > 1 else 0
    size = int(whole.shape[dim])
    if part.target is aten.select.int:
        index = int(part.args[2]) % size  # type: ignore[arg-type]
        return dim % whole.dim(), index, index + 1
    if len(part.args) > 4 and part.args[4] != 1:
        return None
    start: Any = part.args[2] if len(part.args) > 2 else 0
    start = 0 if start is None else max(start + size if start < 0 else start, 0)
    return dim % whole.dim(), min(start, size), min(start, size) + int(_value(part).shape[dim])


def _disjoint(spans: list[tuple[int, int, float]]) -> float:
    total, end = 0.0, 0
    for first, last, part in sorted(spans):
        if first >= end:
            total, end = total + (last - first) * part, last
    return total
