"""Gate `repeat`: a call owes nothing to the calls before it.

- The same addresses with new contents give the new answer (no replay by pointer).
- The same addresses with one other element give the answer to it (no replay by a look at some elements, no
  part that is kept, no input taken for what it usually is; `full` and above).
- Outputs of an earlier call are still what they were after later calls (no shared static buffer).
- After the weights changed in place and `prepare` ran again, the answer follows (`full` and above).
- Whether two runs on equal inputs give equal bytes is recorded, not required.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernelwright.core.verdict import GateResult, Level, ReasonKind
from kernelwright.verify.base import Case, Rejected, When, passed, skipped
from kernelwright.verify.slots import Slots, require

TOUCHES: dict[Level, int] = {"quick": 0, "full": 12, "paranoid": 48}
"""How often one element changes in place."""
WHERE_MEMORY_IS_SHORT = 2
"""How often at most, where what is expected is made again each time."""


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
            case.not_checked += ["changed weights", "one element changed in place"]
            return passed(self, **evidence)
        with _smaller(case, slots):
            evidence |= _one_changed(case, slots)
            if case.problem.weights:
                _changed_weights(slots)
        return passed(self, **evidence)


def _run(slots: Slots, slot: str) -> list[list[int]]:
    slots.run(slot)
    return slots.outputs(slot)


def _same_pointer(slots: Slots, sources: tuple[str, str], held: list[list[list[int]]]) -> dict[str, Any]:
    """Run at one address with the contents of two slots, one after the other.

    An address may have been used before, and what a kernel kept for it may be right for one of the
    two: the first answer is compared too, unless its bytes are those that were compared already.
    """
    again, same, earlier = slots.again(), [], list(held)
    for source, before in zip(sources, held, strict=True):
        slots.refill(source)
        slots.run(again)
        found = slots.outputs(again)
        same.append(found == before)
        if source == sources[-1] or not same[-1]:
            _follows(slots, source, replayed=found != before and found in earlier)
        earlier.append(found)
    return {"deterministic": all(same)}


def _follows(slots: Slots, source: str, *, replayed: bool) -> None:
    """Require that the outputs in `again` belong to the contents of `source`. `replayed`: they are, byte for
    byte, those of a call with other contents."""
    try:
        require(slots.findings(slots.again(), like=source), "same addresses, new contents")
    except Rejected as wrong:
        if not replayed:
            raise
        raise Rejected(wrong.kind, f"the answer to earlier contents: {wrong}", wrong.evidence) from wrong


@contextmanager
def _smaller(case: Case, slots: Slots) -> Iterator[None]:
    """At smaller sizes, where there are, so that what is expected at the problem's own is not lost."""
    slots.select(slots.narrowed(case.kernel.domain) or case.problem.base)
    try:
        yield
    finally:
        slots.select(case.problem.base)


def _one_changed(case: Case, slots: Slots) -> dict[str, Any]:
    """One element of one input changes in place, several times."""
    slot = slots.slot("file")
    slots.run(slot)
    looked, why, wanted = 0, "", TOUCHES[case.level]
    for _ in range(min(wanted, WHERE_MEMORY_IS_SHORT) if slots.sparing else wanted):
        found = slots.touched(slot)
        looked, why = looked + ("wrong" in found), found.get("why", why)
        if found.get("wrong"):
            raise Rejected(
                "answer", f"{found['wrong']} elements are not of inputs that were changed in place", found
            )
    if not looked:
        case.not_checked.append(f"one element changed in place: {why}")
    return {"touched": looked}


def _changed_weights(slots: Slots) -> None:
    """Other weights at the same addresses, then the first ones again."""
    slot = slots.slot("file")
    slots.other_weights()
    slots.run(slot)
    require(slots.findings(slot), "changed weights")
    slots.first_weights()
