"""What clients are told: `Receipt` of a request, `Answer` or `RedactedAnswer` to a ticket, `Status`."""

from __future__ import annotations

from typing import Literal

from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level, ReasonKind
from kernelwright.core.wire import Wire

State = Literal["queued", "building", "judging", "done", "cancelled", "unjudged"]
ENDED: frozenset[State] = frozenset({"done", "cancelled", "unjudged"})
"""`unjudged`: the service could not judge it, which says nothing of the kernel; asking again tries again."""


class Receipt(Wire):
    """Answer to a request: a ticket, or that the queue is full."""

    ticket: str | None
    """None where the queue is full."""
    state: State | Literal["refused"]
    retry_after_s: float | None = None
    """Where the queue is full: when to ask again."""


class Answer(Wire):
    """What is known of a ticket."""

    ticket: str
    state: State
    ahead: int | None = None
    """Requests that will be taken before it, while it is queued."""
    message: str = ""
    """Why it was not judged, or why nothing is taken from the queue."""
    evaluation: Evaluation | None = None
    """Once it is done."""


class RedactedAnswer(Wire):
    """What a trainer is told of a ticket: nothing from which a gate could be learnt."""

    ticket: str
    state: State
    ahead: int | None = None
    """Requests that will be taken before it, while it is queued."""
    message: str = ""
    """Why it was not judged, in general words."""
    verdict: Literal["accepted", "rejected"] | None = None
    kind: ReasonKind | None = None
    """Kind of the reason for which it was rejected."""
    compiler: str = ""
    """The compiler's words, where it did not build."""
    reward: float | None = None
    """Low end of the speed-up's interval, rounded down; 0 where it was rejected."""


class LaneStatus(Wire):
    """One lane."""

    name: str
    """Host and device."""
    state: Literal["starting", "idle", "working", "quarantined"]
    reason: str = ""
    """Why it takes no more work."""
    judged: int = 0


class Status(Wire):
    """The service as it is now."""

    target: Target
    redacted: bool
    level: Level | None = None
    """The only level that is told, where answers are redacted."""
    queued: int
    """Requests that wait, held-out judgements among them left out."""
    capacity: int
    lanes: tuple[LaneStatus, ...]
    done: int = 0
    """Verdicts since the service started."""
    cancelled: int = 0
    unjudged: int = 0
    known: int = 0
    """Requests that were answered from the store."""


class HeldOut(Wire):
    """Held-out judgements of kernels that were told to be accepted; for the service's operator only."""

    judged: int
    rejected: int
    kinds: dict[str, int]
    """Rejections by kind."""
