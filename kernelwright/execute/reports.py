"""What comes back from running a candidate: reports, failures, and how a failure travels.

A candidate's failure is data. Inside a worker it is a `KernelFault` or `KernelRefused`; the bench
turns both, and the death or silence of the worker, into a `Failure`. Bench methods that return a
report carry it there; those that return a bare number raise `CandidateFailed`, which holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.verdict import ReasonKind

FailureKind = Literal["crash", "timeout", "safety", "contract"]


class PlanRefused(UsageError):
    """A plan cannot run: a name, a size or a step kind does not fit."""


class KernelRefused(UsageError):
    """These inputs lie outside the kernel's domain or contract; the original must run."""


class KernelFault(KernelwrightError):
    """A kernel's step failed when it was launched or while it ran."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a candidate did not do its work."""

    kind: FailureKind
    """`crash`: the worker died; `timeout`: no answer in time; `safety`: a step failed on the
    device or the worker broke its protocol; `contract`: the plan or the inputs do not fit."""
    message: str
    """One sentence."""

    @property
    def reason(self) -> ReasonKind:
        """The kind of verdict that this failure leads to."""
        return "contract" if self.kind == "contract" else "safety"


class CandidateFailed(KernelwrightError):
    """Carries a `Failure` out of a bench method; whoever judges turns it into a verdict."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class TensorReport:
    """Where a tensor lies in the worker that made it."""

    name: str
    address: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """One call of the kernel; its outputs are kept in the slot."""

    slot: str
    elapsed_us: float | None = None
    """By the worker's own clock: information, never evidence. `None` if it failed."""
    tensors: tuple[TensorReport, ...] = ()
    """Outputs, then mutated tensors, in the problem's order."""
    failure: Failure | None = None


Position = tuple[int, int, int]
"""Which tensor (index in the report), first byte, number of bytes."""


@dataclass(frozen=True, slots=True)
class CallReport:
    """One timed call, by the clock of the process that asked."""

    subject: str
    us: float | None = None
    """Microseconds from request to reply, sampling of outputs included. `None` if it failed."""
    samples: tuple[bytes | None, ...] = ()
    """What was read at the asked positions before the clock stopped; `None` where nothing could be read."""
    failure: Failure | None = None
