"""Gate `floor`: no kernel is faster than memory lets it be.

A median below the rejecting floor (`measure.floors`) means that the work was not done inside the clock.
On a CPU that floor rests on measured ceilings, and a machine that had other work then is faster now: they
are measured again before anybody is accused.
Not covered: problems whose compulsory bytes fit in the last-level cache, which have no such floor.
"""

from __future__ import annotations

from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.measure.ceilings import ceilings, raised
from kernelwright.measure.floors import rejecting_floor
from kernelwright.verify.base import Case, Rejected, When, passed, skipped


class FloorGate:
    """The measured time is possible."""

    name = "floor"
    kind: ReasonKind = "floor"
    when: When = "after"
    needs_bench = False

    def check(self, case: Case) -> GateResult:
        """Compare the kernel's median with the rejecting floor."""
        if case.measurement is None:
            return skipped(self, "the kernel was not timed")
        floor = rejecting_floor(case.problem, case.target, ceilings(case.target))
        if floor.us <= 0:
            return skipped(self, floor.why)
        latency = case.measurement.kernel.latency_us
        if latency < floor.us and case.target.name == "cpu":
            floor = rejecting_floor(case.problem, case.target, raised(case.target))
        evidence = {"latency_us": latency, "rejecting_floor_us": floor.us, "why": floor.why}
        if latency < floor.us:
            raise Rejected(
                "floor",
                f"{latency:.4g} us, but memory needs {floor.us:.4g} us: the work was not done",
                evidence,
            )
        return passed(self, **evidence)
