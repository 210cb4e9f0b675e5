"""Gate `repeat`: a call owes nothing to the calls before it.

- The same addresses with new contents give the new answer (no replay by pointer).
- Outputs of an earlier call are still what they were after later calls (no shared static buffer).
- After the weights changed in place and `prepare` ran again, the answer follows (`full` and above).
- Whether two runs on equal inputs give equal bytes is recorded, not required.
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.verify.base import Case, Rejected, When, passed, skipped
from kernelwright.verify.slots import Slots, require


class RepeatGate:
    """Calls are independent of each other."""

    name = "repeat"
    kind: ReasonKind = "answer"
    when: When = "before"
    needs_bench = True

    def check(self, case: Case) -> GateResult:
        """Same pointer, held outputs, other weights."""
        if case.problem.random == "stochastic":
            return skipped(self, "the reference draws random numbers that cannot be reproduced")
        slots = case.drawn
        first, second = slots.slot("file", 0), slots.slot("file", 1)
        held = [slots.outputs(each) if slots.ran(each) else _run(slots, each) for each in (first, second)]
        evidence = _same_pointer(slots, (first, second), held)
        if slots.outputs(first) != held[0]:
            raise Rejected("answer", "outputs of an earlier call changed during later calls")
        if case.level == "quick":
            case.not_checked.append("changed weights")
        elif case.problem.weights:
            _changed_weights(case, slots)
        return passed(self, **evidence)


def _run(slots: Slots, slot: str) -> list[list[int]]:
    slots.run(slot)
    return slots.outputs(slot)


def _same_pointer(slots: Slots, sources: tuple[str, str], held: list[list[list[int]]]) -> dict[str, Any]:
    """Run at one address with the contents of two slots, one after the other.

    An address may have been used before, and what a kernel kept for it may be right for one of the
    two: the first answer is compared too, unless its bytes are those that were compared already.
    """
    again, same = slots.again(), []
    for source, before in zip(sources, held, strict=True):
        slots.refill(source)
        slots.run(again)
        same.append(slots.outputs(again) == before)
        if source == sources[-1] or not same[-1]:
            require(slots.findings(again, like=source), "same addresses, new contents")
    return {"deterministic": all(same)}


def _changed_weights(case: Case, slots: Slots) -> None:
    """Other weights at the same addresses, then the first ones again; at smaller sizes, where there are,
    so that what is expected at the problem's own is not lost."""
    slots.select(slots.narrowed(case.kernel.domain) or case.problem.base)
    try:
        slot = slots.slot("file")
        slots.other_weights()
        slots.run(slot)
        require(slots.findings(slot), "changed weights")
        slots.first_weights()
    finally:
        slots.select(case.problem.base)
