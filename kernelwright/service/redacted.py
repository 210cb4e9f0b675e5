"""What a trainer is told of an evaluation, and what is held out.

A policy that is trained against a verdict learns whatever the verdict lets through. So it hears the kind of
a rejection and the compiler's words, and nothing of which gate, which element, which value, which seed,
which threshold, which time. The reward is a *lower bound*: the low end of the interval of the speed-up over
the strongest baseline, rounded down to a step, and more than 1 only where the status is a win.
"""

from __future__ import annotations

import math
import secrets

from kernelwright.core.measurement import Measurement
from kernelwright.core.trial import Evaluation
from kernelwright.service.answer import Answer, RedactedAnswer

STEPS = 20
"""Rewards are multiples of one part in this many."""
COMPILER_CHARACTERS = 4000
UNJUDGED = "the service could not judge it, which says nothing of the kernel; ask again later"


def redacted(answer: Answer) -> RedactedAnswer:
    """The part of an answer that a trainer may know."""
    shown = RedactedAnswer(
        ticket=answer.ticket,
        state=answer.state,
        ahead=answer.ahead,
        message=UNJUDGED if answer.state == "unjudged" else "",
    )
    found = answer.evaluation
    if found is None or found.verdict is None:
        return shown
    reason = found.verdict.reason
    update = {
        "verdict": found.verdict.verdict,
        "kind": reason and reason.kind,
        "compiler": found.build.log[:COMPILER_CHARACTERS] if found.build.status == "failed" else "",
        "reward": reward(found),
    }
    return shown.model_copy(update=update)


def reward(evaluation: Evaluation) -> float:
    """A lower bound of the speed-up, in steps; 0 where it was rejected or nothing was timed."""
    accepted = evaluation.verdict is not None and evaluation.verdict.verdict == "accepted"
    measured = evaluation.measurement
    if not accepted or measured is None or measured.strongest is None:
        return 0.0
    return _rounded_down(_low(measured, measured.strongest.ci[0]))


def _low(measured: Measurement, low: float) -> float:
    """At most 1 unless it is a win: an interval that is unresolved or of a weak task promises nothing."""
    return low if measured.status in ("won", "at_floor") else min(low, 1.0)


def _rounded_down(low: float) -> float:
    return math.floor(low * STEPS) / STEPS if math.isfinite(low) and low > 0 else 0.0


def drawn_for_holding_out(share: float) -> bool:
    """Whether this kernel is one of the share that is judged again; nobody can foresee it."""
    return secrets.SystemRandom().random() < share
