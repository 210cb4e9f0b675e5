"""Which CUDA template a search begins with where several serve a region.

Templates have a fixed order, but rows too long to be held are read twice anyway, and the launches of
`cuda_channel` do that faster (measured) than one of `cuda_row` whose blocks wait for each other.
"""

from __future__ import annotations

import math

from kernelwright.graph.loops import Region
from kernelwright.propose.templates.base import Template
from kernelwright.propose.templates.cuda.folds import Schedule
from kernelwright.propose.templates.cuda.guess import beyond_clusters
from kernelwright.propose.templates.cuda.hold import element_bytes, reused


def ordered(able: tuple[Template, ...], region: Region) -> tuple[Template, ...]:
    """`able` in order of preference for `region`; all of them stay."""
    channel = [template for template in able if template.name == "cuda_channel"]
    if not channel or not beyond_clusters(_row_bytes(region)):
        return able
    return (*channel, *(template for template in able if template not in channel))


def _row_bytes(region: Region) -> int:
    """Bytes of a row that more than one pass reads."""
    schedule = Schedule(region, online=False)
    length = math.prod(region.dims[dim].extent for dim in region.reduced)
    return length * element_bytes(schedule, reused(schedule))
