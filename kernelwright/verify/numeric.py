"""Gate `numeric`: right, and as precise as what it replaces, on the file's data and on adversarial data.

What is compared with what is in `docs/design/precision-contract.md`; here is only on which draws. Draws
of the file are made at the problem's own sizes; adversarial ones at smaller sizes, where the kernel's
domain has such (`narrow`), and at the problem's own where it has not. At `full` and `paranoid` the kernel
also runs at other sizes inside its domain. Not covered: stochastic references (skipped).
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.expr import holds
from kernelwright.core.problem import Workload
from kernelwright.core.verdict import GateResult, Level, ReasonKind
from kernelwright.verify.base import Case, When, passed, skipped
from kernelwright.verify.slots import require

ADVERSARIAL = (
    "nonfinite", "signed", "negative", "heavy_tailed", "constant", "huge", "tiny", "offset", "ill_conditioned"
)  # fmt: skip
WORDS = {
    "file": "as the problem's file draws them",
    "nonfinite": "with NaN and infinities here and there",
    "signed": "normal numbers of both signs",
    "negative": "no number above zero",
    "heavy_tailed": "most small, a few in the thousands",
    "constant": "one value everywhere",
    "huge": "near the largest whose square is finite",
    "tiny": "so small that squares vanish",
    "offset": "a large mean with a small spread",
    "ill_conditioned": "neighbours that cancel but for a rest",
}
"""What each draw is, for whoever reads that a kernel failed on it."""
Draws = tuple[tuple[str, int], ...]
"""Names, and how many of each."""
OWN: dict[Level, Draws] = {
    "quick": (("file", 1),),
    "full": (("file", 2), ("signed", 1)),
    "paranoid": (("file", 5), *((name, 2) for name in ADVERSARIAL)),
}
"""Draws of each level at the problem's own sizes."""
ANYWHERE: dict[Level, Draws] = {
    "quick": (("nonfinite", 1),),
    "full": tuple((name, 1) for name in ADVERSARIAL),
    "paranoid": tuple((name, 2) for name in ADVERSARIAL),
}
"""Draws at smaller sizes inside the domain, or at the problem's own."""
KEPT = frozenset({"file", "nonfinite"})
"""Draws that other gates and other kernels use again; the others are freed at once."""
WORKLOADS: dict[Level, int] = {"quick": 0, "full": 3, "paranoid": 100}
"""How many other sizes are tried."""
SIZED_DRAWS: dict[Level, tuple[str, ...]] = {
    "quick": (), "full": ("file",), "paranoid": ("file", "signed")
}  # fmt: skip


class NumericGate:
    """Outputs lie within the precision contract."""

    name = "numeric"
    kind: ReasonKind = "precision"
    when: When = "before"
    needs_bench = True

    def check(self, case: Case) -> GateResult:
        """Run on the level's draws at the problem's own sizes, on adversarial ones, then at other sizes."""
        if case.problem.random == "stochastic":
            return skipped(self, "the reference draws random numbers that cannot be reproduced")
        seen = {f"{draw}-{number}": _judge(case, draw, number) for draw, number in _each(OWN[case.level])}
        seen |= _adversarial(case, seen)
        seen |= _at_other_sizes(case)
        case.not_checked += _left_out(case, seen)
        return passed(self, draws=seen, **_worst(seen))


def _left_out(case: Case, seen: dict[str, Any]) -> list[str]:
    """Sizes and draws that the level, the problem or the kernel's domain left out."""
    found = []
    if not any(":" in name for name in seen):
        found.append("sizes other than the problem's own")
    elif not SIZED_DRAWS[case.level]:
        found.append("sizes other than the problem's own, but for one draw at smaller ones")
    if not any(spec.dtype.startswith(("float", "bfloat")) for spec in case.problem.inputs):
        return [*found, "adversarial values: no input is floating-point"]
    given = {name for name, _ in (*OWN[case.level], *ANYWHERE[case.level])}
    missed = [name for name in ADVERSARIAL if name not in given]
    return [*found, f"adversarial draws: {', '.join(missed)}"] if missed else found


def _each(draws: Draws) -> list[tuple[str, int]]:
    return [(draw, number) for draw, count in draws for number in range(count)]


def _adversarial(case: Case, seen: dict[str, Any]) -> dict[str, Any]:
    """At smaller sizes, where the domain has such; else those that were not seen yet."""
    draws = _each(ANYWHERE[case.level])
    point = case.drawn.narrowed(case.kernel.domain)
    if point is not None:
        return _there(case, point, draws)
    rest = [(draw, number) for draw, number in draws if f"{draw}-{number}" not in seen]
    return {f"{draw}-{number}": _judge(case, draw, number) for draw, number in rest}


def _there(case: Case, point: Workload, draws: list[tuple[str, int]]) -> dict[str, Any]:
    """Judge these draws at other sizes, and come back."""
    slots, here, seen = case.drawn, case.problem.base, {}
    try:
        slots.select(point)
        for draw, number in draws:
            seen[f"{point.name}:{draw}-{number}"] = _judge(case, draw, number)
    finally:
        slots.select(here)
    return seen


def _judge(case: Case, draw: str, number: int) -> dict[str, Any]:
    slots = case.drawn
    slot = slots.slot(draw, number)
    slots.run(slot)
    figures = require(slots.findings(slot), draw, WORDS[draw])
    if draw not in KEPT:
        slots.drop(slot)
    return _brief(figures)


def _at_other_sizes(case: Case) -> dict[str, Any]:
    """Other workloads inside the kernel's domain."""
    seen: dict[str, Any] = {}
    inside = [each for each in case.problem.workloads[1:] if holds(case.kernel.domain, each.axes)]
    for workload in inside[: WORKLOADS[case.level]]:
        seen |= _there(case, workload, [(draw, 0) for draw in SIZED_DRAWS[case.level]])
        case.drawn.leave(workload)
    return seen


def _brief(figures: dict[str, Any]) -> dict[str, Any]:
    wanted = (
        "relative_error",
        "eager_relative_error",
        "ratio_to_eager",
        "share_of_limit",
        "worst_over_tolerance",
    )
    return {name: figures[name] for name in wanted if name in figures}


def _worst(seen: dict[str, Any]) -> dict[str, Any]:
    """The figures of the draw that came nearest to its limit, under names of their own."""
    shares = {name: figures.get("share_of_limit") or 0.0 for name, figures in seen.items()}
    nearest = max(shares, key=shares.__getitem__, default=None)
    return {} if nearest is None else {"nearest_to_limit": nearest, "share_of_limit": shares[nearest]}
