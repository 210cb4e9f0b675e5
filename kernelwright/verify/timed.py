"""Gate `timed`: what was timed is what was right.

By an outside clock each timed call met contents of its own, and while the clock ran the judge read bytes of
its outputs (`fresh`, `parcels`); here is what became of them. Inputs and weights must be as they were before.
Then a whole timed call is compared: the last ones by a device clock, else one more, made like the timed ones.

Not covered: references whose outputs depend on state that each call changes (the samples of later
calls have no expectation; the last call, from the first state, is still compared).
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.measure.stopping import RULES
from kernelwright.verify.base import Case, Rejected, When, passed, skipped
from kernelwright.verify.seen import Seen
from kernelwright.verify.slots import Slots, require


class TimedGate:
    """Outputs of timed calls are right."""

    name = "timed"
    kind: ReasonKind = "time"
    when: When = "after"
    needs_bench = True

    def check(self, case: Case) -> GateResult:
        """Compare the samples, then one whole call."""
        if case.measurement is None:
            return skipped(self, "the kernel was not timed")
        if case.problem.random == "stochastic":
            return skipped(self, "the reference draws random numbers that cannot be reproduced")
        slots = case.drawn
        figures = _samples(case)
        _unchanged(slots)
        for slot in _whole(case, slots):
            try:
                require(slots.findings(slot), "timed call")
            except Rejected as wrong:
                said = f"right when it was checked, not when it was timed: {wrong}"
                raise Rejected("time", said, wrong.evidence) from wrong
        if RULES[case.level].replicates == 1:
            case.not_checked.append("times of several processes")
        return passed(self, **figures)


def _whole(case: Case, slots: Slots) -> list[str]:
    """Slots whose outputs are now those of a timed call.

    By a device clock each slot still has the results of its last window. By an outside one they were
    spoiled, and mutated tensors have changed with every call: one more call is made.
    """
    timed = slots.timed()
    if isinstance(case.witness, Seen) or case.problem.mutated:
        _one_more(slots, timed[0])
        return timed[:1]
    for slot in timed:
        slots.bench.keep_timed(slot)
    return timed


def _samples(case: Case) -> dict[str, Any]:
    seen = case.witness
    if not isinstance(seen, Seen):
        return {}
    if seen.unread:
        raise Rejected("time", f"{seen.unread} outputs could not be read where they lay")
    figures = {
        "compared": seen.compared,
        "wrong": seen.wrong,
        "rounds_with_own_contents": seen.rounds,
        "rounds_drawn_anew": seen.drawn_anew,
        "rounds_that_moved": seen.moved,
    }
    if seen.scribbled:
        raise Rejected("contract", "writes into its inputs when it is timed", figures)
    if seen.wrong:
        raise Rejected(
            "time",
            f"{seen.wrong} of {seen.compared} pieces of outputs read under the clock are not of their inputs",
            figures,
        )
    if seen.why and not seen.moved:
        case.not_checked.append(f"own contents for each timed call: {seen.why}")
    return figures


def _unchanged(slots: Slots) -> None:
    for slot in slots.timed():
        changed = slots.changed(slot)
        if changed:
            raise Rejected("contract", f"writes what it must not when it is timed: {', '.join(changed)}")


def _one_more(slots: Slots, slot: str) -> None:
    """A call like the timed ones, its outputs kept to be compared."""
    slots.ready()
    slots.bench.reset()
    slots.bench.flush("kernel")
    slots.bench.call("kernel", slot)
    slots.bench.keep_timed(slot)
