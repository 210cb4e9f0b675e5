"""`Settings`: how a verdict service works."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from kernelwright.core.config import data_dir
from kernelwright.core.errors import UsageError
from kernelwright.core.target import Target
from kernelwright.core.verdict import Level
from kernelwright.core.wire import Wire

ABOVE: dict[Level, Level] = {"quick": "full", "full": "paranoid"}
"""The level that judges what was held out from another."""


class Settings(Wire):
    """What a service is started with. `start` refuses settings that do not fit together."""

    target: str = "cpu"
    """`cpu`, `cuda` or `cuda:sm_90`."""
    capacity: int = Field(default=1000, ge=1)
    """Requests that may wait; more are told when to ask again."""
    problems: tuple[str, ...] = ()
    """Texts of the only problems that are judged; empty: whatever clients send."""
    redacted: bool = False
    """Answers are `RedactedAnswer`: for trainers."""
    level: Level = "quick"
    """Where answers are redacted: the only level that is told."""
    held_out_share: float = Field(default=0.1, ge=0.0, le=1.0)
    """Where answers are redacted: share of accepted kernels that are judged again, one level up, untold."""
    store: str | None = None
    """URL of the store of verdicts; None: the one that the environment names."""
    journal: str | None = None
    """File that keeps the queue; None: in the data directory, under `service`, one for each target."""
    ahead: int | None = Field(default=None, ge=1)
    """Requests that a lane compiles ahead; None: one for each core of the lane's host."""
    strikes: int = Field(default=3, ge=1)
    """Failures in a row of a known-good kernel after which a lane is quarantined."""
    limit_s: float = Field(default=1800.0, gt=0)
    """Longest that one judgement may take."""
    desk: str = "kernelwright.service.desk:Desk"
    """Class that judges in a lane, as `module:name`."""

    @property
    def where(self) -> Target:
        """The target, parsed; UsageError if there is no such."""
        return Target.parse(self.target)

    @property
    def journal_path(self) -> Path:
        """File that keeps the queue."""
        if self.journal:
            return Path(self.journal)
        target = self.where
        kind = target.name if target.name == "cpu" else f"{target.name}-{target.arch}"
        return data_dir() / "service" / f"{kind}.jsonl"

    def checked(self) -> Settings:
        """Itself; UsageError, one line, where settings exclude each other."""
        _ = self.where
        if not self.redacted:
            return self
        if not self.problems:
            raise UsageError(
                "a redacted service judges only problems that it was started with, because the "
                "source of a problem can read what is redacted; give --problem FILE, once or several times"
            )
        if self.held_out_share and self.level not in ABOVE:
            raise UsageError(
                f"level '{self.level}' has none above it to hold out; take {' or '.join(ABOVE)}, "
                "or a held-out share of 0"
            )
        return self
