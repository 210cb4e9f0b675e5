"""Work that is done twice: an operation whose equal stands before it."""

from __future__ import annotations

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule


def _earlier(draft: Draft, node: fx.Node) -> fx.Node | None:
    """The first operation with the same name and arguments; literals must be the same in type and sign."""
    nodes = node.all_input_nodes
    readers = nodes[0].users if nodes else draft.graph.find_nodes(op="call_function", target=node.target)
    for other in readers:
        if other is not node and other.target is node.target and other < node and _said(other) == _said(node):
            return other
    return None


def _said(node: fx.Node) -> str:
    return repr((node.args, sorted(node.kwargs.items())))


REPEATED = Rule(
    "repeated work done once",
    "operations are functions of their arguments; nothing is rounded otherwise",
    _earlier,
)
