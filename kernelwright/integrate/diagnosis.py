"""`diagnose_model`: which parts of a whole model cost time, and the most that kernels could give back.

    found = diagnose_model(model, batches)
    found.report["gain"]        # of the whole, if every part that can have a kernel ran at its floor

The parts are those that `optimize_model` would search, in its order. A part's floor is one pass over its
arguments and results at the rate of copying that was measured, and what it spends in libraries, which no
kernel replaces. The bound is Amdahl's: what is not in these parts takes as long as before.

Not covered: how near to its floor a search gets, and what compilers already fuse; `optimize_model` compares
with these.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.core.target import Target
from kernelwright.execute.present import require_device
from kernelwright.integrate.admitted import check_model
from kernelwright.integrate.batch import Batch, batches_of
from kernelwright.integrate.choose import Group
from kernelwright.integrate.installation import reasons
from kernelwright.integrate.sites import NO_ROOM, Sites
from kernelwright.integrate.survey import buffers_kept, survey
from kernelwright.integrate.tensors import wait_for_device
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.disturbance import disturbance, ticks

CALLS = 5
"""Timed calls of the whole per batch."""
APART = 1.5
"""Factor between the whole under the clocks and without them from which on it is said."""
NO_TIME = "there was no time to look at it"


@dataclass(frozen=True)
class ModelDiagnosis:
    """What was found."""

    report: dict[str, Any]
    """As `diagnose --model --json` prints it."""


def diagnose_model(
    model: nn.Module,
    batches: list[Any],
    *,
    target: str = "cpu",
    seconds: float = 120.0,
    on_progress: Callable[[dict[str, Any]], None] | None = None,
) -> ModelDiagnosis:
    """Say which parts of `model` a search would take, and what these could gain, before any search.

    `batches` as for `optimize_model`. Parts are looked at from the largest gain on, until `seconds` are used
    up. UsageError for what `optimize_model` refuses.
    """
    tell = on_progress or _silent
    where = Target.parse(target)
    check_model(model, where)
    if not (math.isfinite(seconds) and seconds >= 0):
        raise UsageError(f"a time of {seconds!r} s is given; give a finite number of seconds, 0 or more")
    require_device(where)
    given = batches_of(batches)
    until = time.monotonic() + seconds
    tell({"stage": "survey", "message": "timing the parts of the model"})
    quiet = ticks([])
    sites = Sites(model, given, survey(model, given), where)
    eager_us = _whole_us(model, given)
    disturbed = disturbance(quiet, ticks([])).words()
    groups, left = _looked_at(sites, until, tell)
    return ModelDiagnosis(_report(sites, groups, left, eager_us, disturbed))


def _looked_at(
    sites: Sites, until: float, tell: Callable[[dict[str, Any]], None]
) -> tuple[list[Group], dict[str, str]]:
    """Groups that can be searched, as many as there was time for, and why other parts are left."""
    groups, left = sites.loaded(0)
    while time.monotonic() < until:
        tell({"stage": "kernels", "message": f"parts that kernels can be written for: {len(groups)} so far"})
        more, left = sites.loaded(len(groups) + 1)
        if len(more) == len(groups):
            break
        groups = more
    return groups, {name: NO_TIME if why == NO_ROOM else why for name, why in left.items()}


def _whole_us(model: nn.Module, batches: Sequence[Batch]) -> float:
    """Of a call per batch, without clocks inside."""
    with buffers_kept(model):
        return sum(_median_us(model, batch) for batch in batches) / len(batches)


def _median_us(model: nn.Module, batch: Batch) -> float:
    batch.run(model)
    return median(_us(model, batch) for _ in range(CALLS))


def _us(model: nn.Module, batch: Batch) -> float:
    wait_for_device()
    begun = time.perf_counter()
    batch.run(model)
    wait_for_device()
    return (time.perf_counter() - begun) * 1e6


def _report(
    sites: Sites, groups: Sequence[Group], left: dict[str, str], eager_us: float, disturbed: str
) -> dict[str, Any]:
    whole_us = 1e6 * max((part.seconds for part in sites.parts), default=0.0)
    gbs = ceilings(sites.target).copy_gbs
    rows = [_row(group, whole_us, gbs) for group in groups]
    gain = _amdahl(whole_us, sum(group.gain_s for group in groups) * 1e6)
    return {
        "model": type(sites.model).__name__,
        "target": sites.target.name,
        "eager_us": eager_us,
        "surveyed_us": whole_us,
        "gain": gain,
        "parts": rows,
        "left": left,
        "summary": [*_summary(eager_us, whole_us, gain, rows, disturbed), *reasons(left)],
    }


def _row(group: Group, whole_us: float, gbs: float) -> dict[str, Any]:
    time_us = 1e6 * sum(part.seconds for part in group.parts)
    library_us = 1e6 * sum(part.library_s for part in group.parts)
    floor_us = library_us + sum(part.nbytes for part in group.parts) / gbs / 1e3
    return {
        "name": group.name,
        "kind": type(group.parts[0].module).__name__,
        "sites": [part.name for part in group.parts],
        "calls": sum(part.calls for part in group.parts),
        "time_us": time_us,
        "library_us": library_us,
        "share": time_us / whole_us if whole_us else 0.0,
        "floor_us": floor_us,
        "floor_share": floor_us / time_us if time_us else None,
        "gain": _amdahl(whole_us, 1e6 * group.gain_s),
    }


def _amdahl(whole_us: float, saved_us: float) -> float | None:
    """How many times as fast the whole is without so much of its time."""
    return whole_us / (whole_us - saved_us) if saved_us < whole_us else None


def _summary(
    eager_us: float, whole_us: float, gain: float | None, rows: Sequence[dict[str, Any]], disturbed: str
) -> list[str]:
    lines = [f"eager takes {eager_us:,.0f} us a batch"]
    if rows:
        most = f"at most {gain:.2f}x" if gain else "no bound is known"
        lines.append(f"with kernels at their floors in all {len(rows)} kinds of parts above: {most}")
    else:
        lines.append("no part was found that a kernel could gain in")
    if whole_us > APART * eager_us:
        lines.append(
            f"with a clock around each part it takes {whole_us:,.0f} us: calls are so short that shares are "
            "rough; give larger batches"
        )
    return [*lines, *([f"while this was measured, {disturbed}: times are too long"] if disturbed else [])]


def _silent(event: dict[str, Any]) -> None:
    """Progress that nobody listens to."""
