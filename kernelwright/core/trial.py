"""`Evaluation`, `Trial` and `Run`: what is stored of a search."""

from __future__ import annotations

import time
import uuid
from typing import Any, Literal

from pydantic import Field

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.measurement import Measurement
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.verdict import Verdict
from kernelwright.core.wire import Wire


def new_id(prefix: str) -> str:
    """A fresh identifier such as `t-3f9a0c1b2d4e`: 48 random bits, readable in a table."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


class Evaluation(Wire):
    """Build, verdict and measurement of one kernel on one problem."""

    problem: str
    """Hash."""
    kernel: str
    """Hash."""
    target: Target
    build: Build
    verdict: Verdict | None = None
    """`None` where the kernel did not build."""
    measurement: Measurement | None = None
    """`None` where it was rejected, or not timed."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """Where the time went: build, gates, measure."""


class Trial(Wire):
    """An evaluation with its parentage and what its proposer was shown."""

    id: str = Field(default_factory=lambda: new_id("t"))
    run: str
    kernel: Kernel
    evaluation: Evaluation
    parents: tuple[str, ...] = ()
    """Trials that the kernel was made from."""
    shown: tuple[str, ...] = ()
    """Parts of the feedback that its proposer saw."""
    created: float = Field(default_factory=time.time)
    """Unix seconds."""


class Run(Wire):
    """A search over trials under one budget."""

    id: str = Field(default_factory=lambda: new_id("r"))
    problem: Problem
    target: Target
    budget_s: float
    strategy: str
    seed: int = 0
    state: Literal["running", "done", "interrupted", "failed"] = "running"
    created: float = Field(default_factory=time.time)
    process: str = ""
    """Mark of the process that searches (`core.process`), if it is known."""
    report: dict[str, Any] | None = None
    """What `optimize --json` printed, once the run has ended."""
