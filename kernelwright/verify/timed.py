"""Gate `timed`: what was timed is what was right.

While the clock ran, the judge read bytes of each timed call's outputs at positions that nobody knew
beforehand (`measure.witness`); here they are compared with the expectation of their slot. Then a whole
timed call is compared: the last ones on a device, one more, made like the timed ones, on a CPU.

Not covered: references whose outputs depend on state that each call changes (the samples of later
calls have no expectation; the last call, from the first state, is still compared).
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.measure.witness import Sample
from kernelwright.verify.base import Case, Rejected, When, passed, skipped
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
        unread = sum(sample.data is None for sample in case.samples)
        if unread:
            raise Rejected(
                "time", f"{unread} of {len(case.samples)} outputs could not be read where they lay"
            )
        figures = _samples(case, slots)
        for slot in _whole(case, slots):
            try:
                require(slots.findings(slot), "timed call")
            except Rejected as wrong:
                said = f"right when it was checked, not when it was timed: {wrong}"
                raise Rejected("time", said, wrong.evidence) from wrong
        return passed(self, samples=len(case.samples), **figures)


def _whole(case: Case, slots: Slots) -> list[str]:
    """Slots whose outputs are now those of a timed call.

    On a device each slot still has the results of its last window. On a CPU pieces of them were
    spoiled, and mutated tensors have changed with every call: one more call is made.
    """
    timed = slots.timed()
    if slots.bench.device == "cpu" or case.problem.mutated:
        _one_more(slots, timed[0])
        return timed[:1]
    for slot in timed:
        slots.bench.keep_timed(slot)
    return timed


def _samples(case: Case, slots: Slots) -> dict[str, Any]:
    if not case.samples:
        return {"compared": 0}
    found = slots.compare_samples([_row(sample) for sample in case.samples])
    if found["wrong"]:
        raise Rejected(
            "time",
            f"{found['wrong']} of {found['compared']} outputs read while the clock ran were wrong",
            found,
        )
    return found


def _one_more(slots: Slots, slot: str) -> None:
    """A call like the timed ones, its outputs kept to be compared."""
    slots.ready()
    slots.bench.reset()
    slots.bench.flush("kernel")
    slots.bench.call("kernel", slot)
    slots.bench.keep_timed(slot)


def _row(sample: Sample) -> dict[str, Any]:
    tensor, first, size = sample.position
    return {
        "slot": sample.slot,
        "tensor": tensor,
        "first": first,
        "size": size,
        "data": (sample.data or b"").hex(),
    }
