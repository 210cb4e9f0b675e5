"""The captured graph of a problem at other axis values, from shapes alone."""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.core.errors import ProblemError
from kernelwright.graph.capture import Captured, capture
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import outline


def captured_at(origin: Origin, axes: Mapping[str, int]) -> Captured | None:
    """The graph at these values; None where the source refuses them or cannot be traced there."""
    try:
        made = outline(origin, axes)
        return capture(made.module, made.arguments)
    except ProblemError:
        return None
