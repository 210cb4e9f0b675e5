"""The captured graph of a problem at other axis values, from shapes alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from kernelwright.core.errors import ProblemError
from kernelwright.graph.capture import Captured, capture
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import outline


def captured_at(origin: Origin, axes: Mapping[str, int]) -> Captured | None:
    """The graph at these values; None where the source refuses them or cannot be traced there.

    What torch warns of there does not concern the user, who did not ask for these sizes.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _captured(origin, axes)
    except ProblemError:
        return None


def _captured(origin: Origin, axes: Mapping[str, int]) -> Captured:
    made = outline(origin, axes)
    return capture(made.module, made.arguments)
