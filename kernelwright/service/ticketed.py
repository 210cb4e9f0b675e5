"""`Ticketed`: an accepted request on its way to a verdict, and `Outcome`: what a lane made of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from kernelwright.core.problem import Problem
from kernelwright.core.trial import Evaluation
from kernelwright.service.answer import ENDED, State
from kernelwright.service.request import Entry


@dataclass
class Ticketed:
    """One entry of the journal that has not ended."""

    entry: Entry
    problem: Problem
    state: State = "queued"
    faults: int = 0
    """Judgements that failed although the lane was sound."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def has_ended(self) -> bool:
        """Whether nothing is to be done for it any more."""
        return self.state in ENDED


@dataclass(frozen=True)
class Outcome:
    """What came of one judgement: an evaluation, or a fault."""

    evaluation: Evaluation | None = None
    fault: str = ""
    by_request: bool = False
    """Whether the fault is the request's: its problem does not run."""
