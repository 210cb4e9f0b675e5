"""Gate `numeric`: right, and as precise as what it replaces, on the file's data and on adversarial data.

What is compared with what is in `docs/design/precision-contract.md`; here is only on which draws. At
`full` and `paranoid` the kernel also runs at other sizes inside its domain. Not covered: stochastic
references (skipped).
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.expr import holds
from kernelwright.core.verdict import GateResult, Level, ReasonKind
from kernelwright.verify.base import Case, When, passed, skipped
from kernelwright.verify.slots import require

ADVERSARIAL = (
    "nonfinite", "signed", "negative", "heavy_tailed", "constant", "huge", "tiny", "offset", "ill_conditioned"
)  # fmt: skip
DRAWS: dict[Level, tuple[tuple[str, int], ...]] = {
    "quick": (("file", 1), ("nonfinite", 1)),
    "full": (("file", 2), *((name, 1) for name in ADVERSARIAL)),
    "paranoid": (("file", 5), *((name, 2) for name in ADVERSARIAL)),
}
"""Draws of each level, and how many of each."""
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
        """Run on every draw of the level, then at other sizes."""
        if case.problem.random == "stochastic":
            return skipped(self, "the reference draws random numbers that cannot be reproduced")
        seen = _at_other_sizes(case)
        if not seen:
            case.not_checked.append("sizes other than the problem's own")
        for draw, count in DRAWS[case.level]:
            for number in range(count):
                seen[f"{draw}-{number}"] = _judge(case, draw, number)
        if not any(spec.dtype.startswith(("float", "bfloat")) for spec in case.problem.inputs):
            case.not_checked.append("adversarial values: no input is floating-point")
        return passed(self, draws=seen, **_worst(seen))


def _judge(case: Case, draw: str, number: int) -> dict[str, Any]:
    slots = case.drawn
    slot = slots.slot(draw, number)
    slots.run(slot)
    figures = require(slots.findings(slot), draw)
    if draw not in KEPT:
        slots.drop(slot)
    return _brief(figures)


def _at_other_sizes(case: Case) -> dict[str, Any]:
    """Other workloads inside the kernel's domain, first of all, because slots are drawn anew after them."""
    slots, seen = case.drawn, {}
    inside = [each for each in case.problem.workloads[1:] if holds(case.kernel.domain, each.axes)]
    chosen = inside[: WORKLOADS[case.level]]
    try:
        for workload in chosen:
            slots.select(workload)
            for draw in SIZED_DRAWS[case.level]:
                seen[f"{workload.name}:{draw}"] = _judge(case, draw, 0)
    finally:
        if chosen:
            slots.select(case.problem.base)
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
