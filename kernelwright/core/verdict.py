"""`Verdict`: what each gate found, with evidence, and what was not checked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kernelwright.core.wire import Wire

Level = Literal["quick", "full", "paranoid"]
ReasonKind = Literal["time", "answer", "precision", "work", "judge", "safety", "build", "contract", "floor"]


class GateResult(Wire):
    """What one gate found."""

    name: str
    status: Literal["pass", "fail", "skipped"]
    kind: ReasonKind
    message: str = ""
    """One line: why it failed or was skipped, or what should be known of a pass."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """Figures that a person can check."""
    seconds: float = 0.0


class Reason(Wire):
    """Why a kernel was rejected."""

    gate: str
    kind: ReasonKind
    message: str


class Verdict(Wire):
    """Accepted or rejected, by which gates, at which level."""

    verdict: Literal["accepted", "rejected"]
    level: Level
    contract_version: int
    gates: tuple[GateResult, ...]
    reason: Reason | None = None
    not_checked: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, gates: list[GateResult], level: Level, contract_version: int, not_checked: list[str]
    ) -> Verdict:
        """Rejected by the first gate that failed, else accepted; skipped gates were not checked."""
        failed = next((gate for gate in gates if gate.status == "fail"), None)
        skipped = [f"{gate.name}: {gate.message}" for gate in gates if gate.status == "skipped"]
        return cls(
            verdict="rejected" if failed else "accepted",
            level=level,
            contract_version=contract_version,
            gates=tuple(gates),
            reason=Reason(gate=failed.name, kind=failed.kind, message=failed.message) if failed else None,
            not_checked=(*not_checked, *skipped),
        )
