"""`Gate` and `Case`: the contract of one check, and what it may look at.

A gate looks at one kernel on one problem and answers with a `GateResult`. It never raises for a
kernel's fault: `run_gate` turns a candidate's crash, hang or refusal into a failed result. What a
gate needs from outside comes in the `Case`; nothing is kept between gates but what they put there.

Not covered: what is measured (`measure`) and in which order gates run (`evaluate`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kernelwright.core.errors import InternalFault
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.measurement import Measurement
from kernelwright.core.problem import Problem
from kernelwright.core.registry import Registry
from kernelwright.core.target import Target
from kernelwright.core.verdict import GateResult, Level, ReasonKind
from kernelwright.execute.reports import CandidateFailed
from kernelwright.measure.witness import Witness

if TYPE_CHECKING:
    from kernelwright.verify.slots import Slots

When = Literal["before", "after"]


class Gate(Protocol):
    """One check."""

    name: str
    kind: ReasonKind
    """What a failure usually means; a result may say something more exact."""
    when: When
    """Before the measurement, or after it."""
    needs_bench: bool
    """Whether the kernel has to be loaded in a bench first."""

    def check(self, case: Case) -> GateResult:
        """Judge `case`; may raise `Rejected`, never anything else for a kernel's fault."""
        ...


GATES: Registry[type[Gate]] = Registry(
    "gate",
    {
        "form": "kernelwright.verify.form:FormGate",
        "build": "kernelwright.verify.build:BuildGate",
        "provenance": "kernelwright.verify.provenance:ProvenanceGate",
        "contract": "kernelwright.verify.contract:ContractGate",
        "numeric": "kernelwright.verify.numeric:NumericGate",
        "repeat": "kernelwright.verify.repeat:RepeatGate",
        "timed": "kernelwright.verify.timed:TimedGate",
        "floor": "kernelwright.verify.floor:FloorGate",
        "sanitize": "kernelwright.verify.sanitize:SanitizeGate",
    },
)


class Rejected(Exception):
    """The kernel failed in the middle of a gate: what kind of failure, one line, and figures."""

    def __init__(self, kind: ReasonKind, message: str, evidence: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.evidence = evidence or {}


class Seeds:
    """Fresh secret seeds. None is handed out twice, and none is written into evidence."""

    def __init__(self) -> None:
        self._given: set[int] = set()

    def fresh(self) -> int:
        """A seed of 48 random bits from the system's generator: draws derive further seeds from it."""
        seed = secrets.randbits(48)
        if seed in self._given:
            return self.fresh()
        self._given.add(seed)
        return seed


@dataclass
class Case:
    """One kernel on one problem, as the gates see it."""

    problem: Problem
    kernel: Kernel
    target: Target
    level: Level
    build: Build | None = None
    measurement: Measurement | None = None
    witness: Witness | None = None
    """What was seen of outputs while the kernel was timed."""
    slots: Slots | None = None
    """Draws on the bench."""
    not_checked: list[str] = field(default_factory=list)
    """What a gate left out, in words; ends in the verdict."""
    on_stage: Callable[[str], None] | None = None

    def begins(self, what: str) -> None:
        """Tell whoever waits what is looked at now."""
        if self.on_stage is not None:
            self.on_stage(what)

    @property
    def drawn(self) -> Slots:
        """The draws and, through them, the bench; a gate with `needs_bench` may rely on it."""
        if self.slots is None:
            raise InternalFault("a gate that runs the kernel was asked without a bench")
        return self.slots


def run_gate(gate: Gate, case: Case) -> GateResult:
    """`gate.check(case)`, timed, with a candidate's failure turned into a failed result."""
    started = time.perf_counter()
    try:
        result = gate.check(case)
    except Rejected as reason:
        result = GateResult(
            name=gate.name, status="fail", kind=reason.kind, message=str(reason), evidence=reason.evidence
        )
    except CandidateFailed as error:
        failure = error.failure
        result = GateResult(name=gate.name, status="fail", kind=failure.reason, message=failure.message)
    return result.model_copy(update={"seconds": time.perf_counter() - started})


def passed(gate: Gate, **evidence: Any) -> GateResult:
    """The gate found nothing wrong; `evidence` are the figures it saw."""
    return GateResult(name=gate.name, status="pass", kind=gate.kind, evidence=evidence)


def skipped(gate: Gate, why: str) -> GateResult:
    """The gate could not look; `why` ends in the verdict's `not_checked`."""
    return GateResult(name=gate.name, status="skipped", kind=gate.kind, message=why)
