"""`Diagnosis`: where a reference's time goes, and the most that a perfect kernel could gain.

One row for each operation of the eager reference, from a profile: its share of time, the time that its
bytes and operations need at the machine's ceilings, and Amdahl's bound: how much faster the whole
would be if only this part ran at its floor. The whole has a floor of its own, lower than the sum of
the parts', because operations that are fused need not write what the next one reads.

Said beside it: what rewriting makes of the graph, whether kernels can be proposed at all, and what makes the
figures doubtful.

Not covered: what compilers already fuse; compare with the baselines in the report of `optimize`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from kernelwright.core.errors import ProblemError, first_line
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.graph.library_steps import LibraryStep
from kernelwright.graph.rewrites.engine import rewritten
from kernelwright.measure.ceilings import Ceilings, ceilings, raised
from kernelwright.measure.disturbance import disturbance, ticks
from kernelwright.measure.floors import reporting_floor
from kernelwright.measure.profile import Part, Profile, profile
from kernelwright.search.campaign import graph_of, open_proposals
from kernelwright.verify.slots import Slots

SHOWN = 0.005
"""Share of time from which a part has a row of its own; the rest is summed."""
FLOAT_BYTES = 4
APART = 1.5
"""Factor between eager's time and the sum of its parts from which on it is said."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found."""

    report: dict[str, Any]
    """As `diagnose --json` prints it."""
    problem: Problem


def diagnosed(
    problem: Problem, target: Target, seconds: float, tell: Callable[[dict[str, Any]], None]
) -> Diagnosis:
    """Profile the eager reference and put its parts beside their floors."""
    tell({"stage": "ceilings", "message": "what this machine can do"})
    limits = ceilings(target)
    tell({"stage": "profile", "message": "running the reference"})
    with Bench.open(problem, problem.base, target) as bench:
        slot = Slots(bench).slot("file")
        processes = [bench.reference.pid, bench.opponents.pid]
        before = ticks(processes)
        eager_us = _eager_us(bench, slot)
        runs = max(3, min(7, int(seconds / 4 / max(eager_us / 1e6, 1e-3))))
        found = profile(bench.reference, slot, runs=runs, timeout_s=max(seconds, 30.0))
        disturbed = disturbance(before, ticks(processes)).words()
    if reporting_floor(problem, limits).us > eager_us:  # they were measured while the machine was busy
        limits = raised(target)
    tell({"stage": "kernels", "message": "looking for parts that kernels can be written for"})
    kernels, graph = _kernels(problem, target), _graph(problem)
    return Diagnosis(_report(problem, target, found, limits, eager_us, kernels, disturbed, graph), problem)


def _eager_us(bench: Bench, slot: str) -> float:
    """Median of five calls, the first two thrown away."""
    bench.baseline("eager")
    return median([bench.call("eager", slot) for _ in range(7)][2:])


def _kernels(problem: Problem, target: Target) -> dict[str, Any]:
    """Whether `optimize` has kernels to propose: how many loop nests templates serve, or why none."""
    try:
        proposals = open_proposals(problem, target)
    except ProblemError as error:
        return {"possible": False, "regions": 0, "libraries": None, "reason": first_line(error)}
    steps = proposals.partition.steps
    return {
        "possible": True,
        "regions": len(proposals.partition.regions),
        "libraries": sum(isinstance(step, LibraryStep) for step in steps),
        "reason": None,
    }


def _graph(problem: Problem) -> dict[str, Any] | None:
    """Operations, and bytes if all but library calls were fused, as written and after rewriting."""
    try:
        form = rewritten(graph_of(problem))
    except ProblemError:
        return None
    return {
        "operations": form.before.flops,
        "bytes": form.before.moved_bytes,
        "rewritten": {"operations": form.after.flops, "bytes": form.after.moved_bytes},
        "rules": list(form.rules),
    }


def _report(
    problem: Problem,
    target: Target,
    found: Profile,
    limits: Ceilings,
    eager_us: float,
    kernels: dict[str, Any],
    disturbed: str = "",
    graph: dict[str, Any] | None = None,
) -> dict[str, Any]:
    floor = reporting_floor(problem, limits)
    rows = [_row(part, found, limits) for part in found.parts if part.share >= SHOWN]
    rest = [part for part in found.parts if part.share < SHOWN]
    if rest:
        rows.append(_rest(rest, found))
    gain = eager_us / floor.us if floor.us else None
    lines = _summary(eager_us, floor.us, floor.why, gain, rows, problem)
    return {
        "problem": {"name": problem.name, "hash": problem.hash},
        "target": target.name,
        "eager_us": eager_us,
        "parts_us": found.total_us,
        "floor_us": floor.us or None,
        "bound": floor.bound,
        "floor_share": floor.us / eager_us if floor.us else None,
        "gain": gain,
        "parts": rows,
        "kernels": kernels,
        "graph": graph,
        "summary": [*lines, *_forms(graph), _served(kernels), *_doubts(found.total_us, eager_us, disturbed)],
    }


def _forms(graph: dict[str, Any] | None) -> Iterator[str]:
    """What rewriting makes of the graph; nothing where no rule applies."""
    if graph is not None and graph["rules"]:
        after = graph["rewritten"]
        yield (
            f"rewritten, {graph['operations']:,} operations on {graph['bytes']:,} bytes are"
            f" {after['operations']:,} on {after['bytes']:,}: {'; '.join(graph['rules'])}"
        )


def _served(kernels: dict[str, Any]) -> str:
    """What `optimize` can do about it."""
    if not kernels["possible"]:
        return f"kernels: no; {kernels['reason']}"
    nests, kept = kernels["regions"], kernels["libraries"]
    library = f"; library calls that stay as they are: {kept}" if kept else ""
    return f"kernels: yes, for {nests} loop nest{'s' * (nests != 1)}{library}"


def _doubts(parts_us: float, eager_us: float, disturbed: str) -> Iterator[str]:
    """Why the figures above may mislead: parts that do not add up to the whole, and a busy machine."""
    if parts_us > APART * eager_us:
        yield (
            f"the parts take {parts_us:,.0f} us under the profiler, eager takes {eager_us:,.0f} us without: "
            "do not rely on the shares; run it again on a quiet machine, or with larger inputs"
        )
    elif parts_us and eager_us > APART * parts_us:
        yield (
            f"the parts take {parts_us:,.0f} us of eager's {eager_us:,.0f} us: "
            "the rest is spent between operations, in Python and in torch's dispatcher"
        )
    if disturbed:
        yield f"while this was measured, {disturbed}: times are too long"


def _row(part: Part, found: Profile, limits: Ceilings) -> dict[str, Any]:
    floor_us = _floor_us(part, limits)
    gain = found.gain_at_floor(part, floor_us if floor_us is not None else 0.0)
    return {
        "name": part.name,
        "kind": " x ".join(_size(shape) for shape in part.shapes if shape),
        "calls": part.calls,
        "time_us": part.us,
        "share": part.share,
        "floor_us": floor_us,
        "floor_share": floor_us / part.us if floor_us is not None and part.us else None,
        "gain": gain if math.isfinite(gain) else None,
        "gain_if_free": found.gain_if_free(part),
    }


def _size(shape: Sequence[int]) -> str:
    """Without spaces, so that a table breaks no line inside it."""
    return str(list(shape)).replace(" ", "")


def _rest(rest: Sequence[Part], found: Profile) -> dict[str, Any]:
    us = sum(part.us for part in rest)
    return {
        "name": f"{len(rest)} more",
        "kind": "",
        "calls": sum(part.calls for part in rest),
        "time_us": us,
        "share": us / found.total_us if found.total_us else 0.0,
        "floor_us": None,
        "floor_share": None,
        "gain": None,
        "gain_if_free": None,
    }


def _floor_us(part: Part, limits: Ceilings) -> float | None:
    """Reading its inputs once, as float32, or its products, whichever is longer; None without inputs.

    A lower end: what the operation writes is not in the profile and is left out.
    """
    sizes = [math.prod(shape) for shape in part.shapes if shape]
    if not sizes:
        return None
    memory = FLOAT_BYTES * sum(sizes) / limits.read_gbs / 1e3
    return part.calls * max(memory, _product_flops(part) / (limits.fp32_tflops * 1e6))


def _product_flops(part: Part) -> float:
    """Operations of a matrix product, from the sizes of its last two matrices; 0 for anything else."""
    matrices = [shape for shape in part.shapes if len(shape) >= 2]
    if part.name.split("::")[-1] not in {"mm", "addmm", "bmm", "baddbmm"} or len(matrices) < 2:
        return 0.0
    left, right = matrices[-2], matrices[-1]
    return 2.0 * math.prod(left) * right[-1]


def _summary(
    eager_us: float,
    floor_us: float,
    why: str,
    gain: float | None,
    rows: Sequence[dict[str, Any]],
    problem: Problem,
) -> list[str]:
    lines = [f"eager takes {eager_us:,.0f} us"]
    if gain is None:
        lines.append(f"no floor is known: {why}")
    else:
        lines.append(f"the cheapest way that is known takes {floor_us:,.0f} us ({why}): at most {gain:.2f}x")
    worth = max((row for row in rows if row["gain"] is not None), key=lambda row: row["gain"], default=None)
    if worth is not None:
        lines.append(f"most is to be won in {worth['name']}: {worth['gain']:.2f}x for the whole, alone")
    lines += [f"weak task: {reason}" for reason in problem.degenerate]
    return lines
