"""relu, clamp and hardtanh of one another: one clamp."""

from __future__ import annotations

import math
from typing import Any

from torch import fx

from kernelwright.graph.rewrites.base import Draft, Rule, aten, is_float, is_number, only_reader
from kernelwright.graph.scalar_ops import op_name

Range = tuple[float, float]


def _composed(draft: Draft, node: fx.Node) -> fx.Node | None:
    outer = _range(node)
    if outer is None or not isinstance(node.args[0], fx.Node):
        return None
    inner = _range(node.args[0])
    if inner is None or not only_reader(node.args[0]):
        return None
    low, high = (min(max(end, outer[0]), outer[1]) for end in inner)
    ends = (None if low == -math.inf else low, None if high == math.inf else high)
    return draft.call(aten.clamp.default, node.args[0].args[0], *ends)


def _range(node: fx.Node) -> Range | None:
    """Ends of a clamp with literal ends, the lower one first."""
    if not is_float(node):
        return None
    name = op_name(node)
    if name == "relu":
        return 0.0, math.inf
    if name not in ("clamp", "clamp_min"):
        return None
    low: Any = node.kwargs.get("min", node.args[1] if len(node.args) > 1 else None)
    high: Any = node.kwargs.get("max", node.args[2] if len(node.args) > 2 else None)
    if not all(end is None or is_number(end) for end in (low, high)):
        return None
    ends = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    return ends if ends[0] <= ends[1] else None


CLAMPS = Rule(
    "clamps merged",
    "a clamp of a clamp is the clamp whose ends are the inner ones, clamped; NaN stays; nothing is rounded",
    _composed,
)
