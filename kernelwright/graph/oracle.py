"""The yardstick: what the reference computes when every floating-point value is a float64.

`oracle` runs the captured graph as written, before decomposition, so that an error in our own
decompositions shows. Inputs, weights, constants and every dtype literal of the graph are re-typed;
integer results stay. Operations that draw from torch's generator are run in their own dtype, so
that they draw what eager draws, and only their results are re-typed.

float64 cancels too: `1 + erf(x)` is 0 for x below -6, and what a more careful kernel gives there is right.
Where one operation hides such a step (GELU) it is computed without it; for the others `jitter` moves every
result on the way by some roundoffs of float64, so that it can be seen how far the yardstick itself is off.

Not covered: bit casts between element types, and graphs that torch.export cannot trace; for those
`retyped_module` runs a copy of the module in float64.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from zlib import crc32

import torch
from torch import fx
from torch.utils import _pytree as pytree

from kernelwright.graph.capture import Captured, Placeholder, module_tensors
from kernelwright.graph.exporting import draws_random

Weights = Mapping[str, torch.Tensor]


class Oracle(Protocol):
    """The reference in float64."""

    def __call__(self, inputs: Sequence[Any], weights: Weights, jitter: float = 0.0) -> list[torch.Tensor]:
        """Arguments of `forward`, weights by qualified name -> tensors returned, then mutated ones by name.

        `jitter`: relative change of every value that an operation computes from floating-point values.
        """


def oracle(captured: Captured) -> Oracle:
    """The captured reference in float64. Arguments and weights are not changed."""

    def run(inputs: Sequence[Any], weights: Weights, jitter: float = 0.0) -> list[torch.Tensor]:
        tensors = [leaf for leaf in pytree.tree_leaves(list(inputs)) if isinstance(leaf, torch.Tensor)]
        values = _placeholder_values(captured, tensors, weights)
        with torch.no_grad(), _default_dtype(torch.float64):
            results = _Retyped(captured.original, jitter).run(*values)
        return _ordered(captured.returned, results)

    return run


def retyped_module(module: torch.nn.Module, mutated: Sequence[str] = ()) -> Oracle:
    """The same from a copy of the module in float64, for references that cannot be captured.

    A module that names float32 in its own code computes in float32 there. There is no jitter.
    """

    def run(inputs: Sequence[Any], weights: Weights, jitter: float = 0.0) -> list[torch.Tensor]:
        doubled = copy.deepcopy(module).double()
        held = module_tensors(doubled)
        with torch.no_grad(), _default_dtype(torch.float64):
            for name, value in weights.items():
                held[name].copy_(value)
            returned = doubled(*pytree.tree_map(_wide, list(inputs)))
        leaves = [leaf for leaf in pytree.tree_leaves(returned) if isinstance(leaf, torch.Tensor)]
        return [*leaves, *(held[name] for name in sorted(mutated) if name in held)]

    return run


class _Retyped(fx.Interpreter):
    """Runs a graph with float64 in place of every other floating-point type; frees what is no longer read,
    its own float64 copies of the arguments included."""

    def __init__(self, graph: fx.GraphModule, jitter: float) -> None:
        super().__init__(graph)
        self._jitter = jitter

    def run_node(self, n: fx.Node) -> Any:
        if n.op == "call_function" and draws_random(n):
            return pytree.tree_map(_wide, self._random(n))
        found = pytree.tree_map(_wide, super().run_node(n))
        if n.op != "call_function" or not self._jitter:
            return found
        given = [value for node in n.all_input_nodes for value in pytree.tree_leaves(self.env.get(node))]
        return pytree.tree_map(lambda value: self._jittered(n, value, given), found)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(_wide, args), pytree.tree_map(_wide, kwargs)
        if target is torch.ops.aten.gelu.default:
            return _gelu(*args, **kwargs)
        return super().call_function(target, args, kwargs)

    def _jittered(self, n: fx.Node, value: Any, given: list[Any]) -> Any:
        """A new value a little off, up or down by the node; views and what came from no float as they are."""
        floats = [other for other in given if isinstance(other, torch.Tensor) and other.is_floating_point()]
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not floats:
            return value
        memory = value.untyped_storage().data_ptr()
        if any(other.untyped_storage().data_ptr() == memory for other in floats):
            return value
        way = 1 if crc32(n.name.encode()) & 1 else -1
        return torch.mul(value, 1 + way * self._jitter)

    def _random(self, n: fx.Node) -> Any:
        if n.target is torch.ops.aten.native_dropout.default:
            return self._dropout(n, *self.fetch_args_kwargs_from_env(n)[0])
        args, kwargs = fx.map_arg((n.args, n.kwargs), lambda node: _own_type(node, self.env[node]))
        assert callable(n.target)
        return n.target(*args, **kwargs)

    def _dropout(self, n: fx.Node, x: torch.Tensor, probability: float, train: bool | None) -> Any:
        (source, *_) = n.all_input_nodes
        _, mask = torch.ops.aten.native_dropout.default(_own_type(source, x), probability, train)
        scale = 0.0 if probability == 1 else 1 / (1 - probability)
        return x * mask * scale, mask


def _gelu(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """GELU as functions that keep their digits in the negative tail: x/2 erfc(-x/sqrt 2), x sigmoid(2u)."""
    if approximate == "none":
        return torch.mul(0.5 * x, torch.special.erfc(x * -math.sqrt(0.5)))
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


def _own_type(node: fx.Node, value: Any) -> Any:
    """`value` in the element type that the graph gives `node`."""
    return value.to(node.meta["val"].dtype) if isinstance(value, torch.Tensor) else value


def _wide(value: Any) -> Any:
    """A floating-point tensor or dtype as float64; anything else as it is."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value


def _placeholder_values(
    captured: Captured, tensors: list[torch.Tensor], weights: Mapping[str, torch.Tensor]
) -> Iterator[Any]:
    device = tensors[0].device if tensors else None
    for node in captured.original.graph.nodes:
        if node.op == "placeholder":
            known = captured.original_placeholders.get(node.name)
            yield None if known is None else _held_by(known, tensors, weights, device)


def _held_by(
    known: Placeholder,
    tensors: list[torch.Tensor],
    weights: Mapping[str, torch.Tensor],
    device: torch.device | None,
) -> torch.Tensor:
    if known.kind == "input":
        return tensors[known.index]
    if known.tensor is not None:
        return known.tensor.to(device)
    return weights[known.name]


def _ordered(returned: tuple[str, ...], results: Sequence[Any]) -> list[torch.Tensor]:
    pairs = list(zip(returned, results, strict=True))
    mutated = sorted(((name, value) for name, value in pairs if name), key=lambda pair: pair[0])
    outputs = [value for name, value in pairs if not name and isinstance(value, torch.Tensor)]
    return [*outputs, *(value for _, value in mutated)]


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
