"""Samples of the kernel and its baselines as positions in a drawing: a row each, a lane for each process.

Positions are in the drawing's own units, from the left edge of its plot. The axis begins at zero, so that
lengths compare as times do. Samples beyond the axis are drawn at its end and counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.core.measurement import Measurement, Timing

WIDTH = 640.0
"""Units of the plot's width."""
LANE, GAP = 9.0, 16.0
"""Height of a process's lane, and room between two rows."""
MOST_POINTS = 80
"""Of each process; more samples are thinned out evenly by rank, ends kept."""
_SHARE_SHOWN, _ROOM = 0.95, 1.06
_TICKS = 5


@dataclass(frozen=True)
class Row:
    """One subject's samples."""

    name: str
    top: float
    height: float
    points: tuple[tuple[float, float, int], ...]
    """x, y, and the number of the process."""
    median: float
    low: float
    high: float
    beyond: int
    """Samples that lie beyond the axis."""


@dataclass(frozen=True)
class Chart:
    """All rows on one axis."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, float], ...]
    """Position and microseconds."""
    floor: float | None
    """Where the reporting floor lies."""
    floor_us: float | None
    height: float
    width: float = WIDTH


def timing_chart(measurement: Measurement) -> Chart:
    """The drawing of a measurement: the kernel first, then baselines from the fastest."""
    others = sorted(measurement.baselines, key=lambda timing: timing.latency_us)
    subjects = [measurement.kernel, *others]
    end = _end(subjects)
    rows, top = [], 0.0
    for timing in subjects:
        rows.append(_row(timing, top, end))
        top += rows[-1].height + GAP
    share = measurement.floor_share
    floor_us = None if share is None else share * measurement.kernel.latency_us
    return Chart(
        rows=tuple(rows),
        ticks=tuple((_at(us, end), us) for us in _ticks(end)),
        floor=None if floor_us is None else _at(floor_us, end),
        floor_us=floor_us,
        height=top,
    )


def _row(timing: Timing, top: float, end: float) -> Row:
    points = []
    for lane, samples in enumerate(timing.samples_us):
        y = top + (lane + 0.5) * LANE
        points += [(_at(us, end), round(y, 1), lane) for us in _thinned(samples)]
    return Row(
        name=timing.name,
        top=top,
        height=LANE * max(len(timing.samples_us), 2),
        points=tuple(points),
        median=_at(timing.latency_us, end),
        low=_at(timing.ci[0], end),
        high=_at(timing.ci[1], end),
        beyond=sum(us > end for samples in timing.samples_us for us in samples),
    )


def _thinned(samples: Sequence[float]) -> list[float]:
    ordered = sorted(samples)
    if len(ordered) <= MOST_POINTS:
        return ordered
    step = (len(ordered) - 1) / (MOST_POINTS - 1)
    return [ordered[round(index * step)] for index in range(MOST_POINTS)]


def _end(subjects: Sequence[Timing]) -> float:
    """Microseconds at the axis's end: nearly all samples of each subject, and every interval."""
    ends = [1e-3]
    for timing in subjects:
        ordered = sorted(us for samples in timing.samples_us for us in samples)
        shown = ordered[: math.ceil(_SHARE_SHOWN * len(ordered))]
        ends += [timing.latency_us, timing.ci[1], *shown[-1:]]
    return _ROOM * max(end for end in ends if math.isfinite(end))


def _at(us: float, end: float) -> float:
    return round(WIDTH * min(max(us / end, 0.0), 1.0), 1)


def _ticks(end: float) -> list[float]:
    """Round numbers from zero up to the end."""
    rough = end / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    return [step * index for index in range(int(end / step) + 1)]
