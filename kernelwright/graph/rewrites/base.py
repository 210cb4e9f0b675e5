"""`Draft`: a private copy of a captured graph that rules change, and `Rule`, what one of them is.

A rule looks at one operation. Where it matches, it adds the operations that compute the same and returns
the one that takes the place. It never looks at values: sizes, element types, literals and who reads what
are all that it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode

from kernelwright.graph.atoms import Mismatch
from kernelwright.graph.capture import Captured
from kernelwright.graph.scalar_ops import op_name
from kernelwright.graph.views import shape_of

aten: Any = torch.ops.aten
FLOATS = (torch.float32, torch.float64)
"""Types in which a rule may round a value that the graph as written does not round."""


class Draft:
    """A graph under change; its nodes carry the same `meta` as those of the capture."""

    def __init__(self, captured: Captured, root: fx.GraphModule | None = None) -> None:
        """`root` holds what the graph names, where `captured` is an outline."""
        self._of = captured
        self._root = captured.graph_module if root is None else root
        self.graph = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        self._last = self.graph.output(self.graph.graph_copy(captured.graph_module.graph, copies))
        self._returned = captured.graph_module.graph.output_node().args
        self._held = {
            copies[node]: captured.placeholders[node.name]
            for node in captured.graph_module.graph.nodes
            if node.op == "placeholder" and node.name in captured.placeholders
        }
        self._mode = detect_fake_mode([node.meta.get("val") for node in self.graph.nodes])
        self._before: fx.Node | None = None
        self._fresh: list[fx.Node] = []
        self._gone: set[fx.Node] = set()

    def operations(self) -> list[fx.Node]:
        """All operations, in order."""
        return [node for node in self.graph.nodes if node.op == "call_function"]

    def alive(self, node: fx.Node) -> bool:
        """Whether the node is still in the graph."""
        return node not in self._gone

    def call(self, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        """Add an operation in front of the one that is being rewritten."""
        assert self._before is not None
        with self.graph.inserting_before(self._before):
            node = self.graph.call_function(target, args, kwargs)
        given, named = fx.map_arg((args, kwargs), lambda each: each.meta["val"])
        with self._mode or nullcontext():
            node.meta["val"] = target(*given, **named)
        self._fresh.append(node)
        return node

    def view(self, node: fx.Node, shape: list[int]) -> fx.Node:
        """The elements of `node`, in their order, in another shape; a copy first where memory demands it."""
        if shape_of(node) == shape:
            return node
        if not node.meta["val"].is_contiguous():
            node = self.call(aten.clone.default, node, memory_format=torch.contiguous_format)
        return self.call(aten.view.default, node, shape)

    def attempt(self, rule: Rule, node: fx.Node) -> list[fx.Node] | None:
        """Apply a rule at a node; what to look at next, or None where it does not match."""
        new = self._new(rule, node)
        if new is None:
            self._discard()
            return None
        node.replace_all_uses_with(new)
        self._sweep(node)
        return [each for each in (*self._fresh, new, *new.users) if self.alive(each)]

    def matches(self, rule: Rule, node: fx.Node) -> bool:
        """Whether a rule matches at a node; nothing changes."""
        found = self._new(rule, node) is not None
        self._discard()
        return found

    def _new(self, rule: Rule, node: fx.Node) -> fx.Node | None:
        """What a rule puts in place of a node; None where it does not match, or a size depends on values."""
        self._before, self._fresh = node, []
        try:
            return rule.rewrite(self, node)
        except Mismatch:
            return None

    def _discard(self) -> None:
        """Take out what an attempt added that came to nothing."""
        for node in reversed(self._fresh):
            self.graph.erase_node(node)
            self._gone.add(node)
        self._fresh = []

    def _sweep(self, node: fx.Node) -> None:
        """Erase what nobody reads any more."""
        waiting = [node, *reversed(self._fresh)]
        while waiting:
            node = waiting.pop(0)
            if node.op == "call_function" and not node.users and self.alive(node):
                before = node.all_input_nodes
                self.graph.erase_node(node)
                self._gone.add(node)
                waiting += before

    def is_fixed(self, value: Any) -> bool:
        """Whether a value depends on weights and literals only, and on no weight that a call changes."""
        waiting, seen = [value] if isinstance(value, fx.Node) else [], set()
        while waiting:
            node = waiting.pop()
            if node.op == "placeholder":
                held = self._held.get(node)
                if held is None or held.kind == "input" or held.name in self._of.mutations:
                    return False
            fresh = [each for each in node.all_input_nodes if each not in seen]
            seen.update(fresh)
            waiting += fresh
        return True

    def copy(self) -> Draft:
        """Another draft of the graph as it is now."""
        return Draft(self.outline(), self._root)

    def outline(self) -> Captured:
        """The graph as it is now, in place of the captured one, to be looked at or copied; it cannot run."""
        return self._put(SimpleNamespace(graph=self.graph))

    def captured(self) -> Captured:
        """The same, able to run; its `original` is still the problem's."""
        return self._put(fx.GraphModule(self._root, self.graph))

    def _put(self, module: Any) -> Captured:
        moved = dict(zip(_leaves(self._returned), _leaves(self._last.args), strict=True))
        return replace(
            self._of,
            graph_module=module,
            placeholders={node.name: held for node, held in self._held.items()},  # a copy may rename nodes
            outputs=tuple(
                moved.get(value, value) if _is_node(value) else value for value in self._of.outputs
            ),
            mutations={name: moved[node] for name, node in self._of.mutations.items()},
        )


@dataclass(frozen=True)
class Rule:
    """One way to compute the same for less."""

    name: str
    """As reports say what was done."""
    why: str
    """Why it holds for all inputs, and what it does to rounding and to values that are not finite."""
    rewrite: Callable[[Draft, fx.Node], fx.Node | None]


def only_reader(node: fx.Node) -> bool:
    """Whether one operation reads the node."""
    return len(node.users) == 1


def is_float(node: Any) -> bool:
    """Whether a node is a tensor in one of `FLOATS`."""
    return isinstance(node, fx.Node) and getattr(node.meta.get("val"), "dtype", None) in FLOATS


def is_number(value: Any) -> bool:
    """Whether an argument is a literal number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def reduced_dims(node: fx.Node) -> list[int]:
    """Dimensions that a `sum.dim_IntList`, `mean.dim`, `amax` or `amin` folds, from the front, in order."""
    rank = len(shape_of(node.all_input_nodes[0]))
    given: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    dims = [given] if isinstance(given, int) else list(given or range(rank))
    return sorted(dim % rank for dim in dims) if rank else []


def same_type(node: fx.Node, other: fx.Node) -> bool:
    """Whether two tensors have one element type."""
    return bool(node.meta["val"].dtype == other.meta["val"].dtype)


def peeled(node: Any) -> Any:
    """What a chain of views that only reshape is of."""
    while isinstance(node, fx.Node) and op_name(node) in ("view", "unsqueeze", "squeeze", "_unsafe_view"):
        node = node.args[0]
    return node


def _is_node(value: Any) -> bool:
    return isinstance(value, fx.Node)


def _leaves(args: Any) -> list[fx.Node]:
    found: list[fx.Node] = []
    fx.map_arg(args, found.append)
    return found
