"""`Kernel`: one way to compute a problem, and `Build`: what a compiler made of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kernelwright.core.plan import Plan
from kernelwright.core.target import Target
from kernelwright.core.wire import Wire, content_hash

Language = str
"""A name in `kernelwright.languages`: `cpp`, `cuda`, `triton`, `python`."""
Trust = Literal["sealed", "open"]


class Source(Wire):
    """One source file."""

    path: str
    text: str


class Proposer(Wire):
    """Who proposed a kernel, and the choices that made it."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class Kernel(Wire):
    """Sources, plan and domain. Its hash leaves out its name and its proposer."""

    name: str
    problem: str
    """Hash of the problem it is for."""
    language: Language
    sources: tuple[Source, ...]
    plan: Plan | None = None
    """What runs; `None` only for open kernels, whose host side is their own Python."""
    domain: str = ""
    """Predicate over axes: where the kernel serves. Empty means everywhere."""
    options: tuple[str, ...] = ()
    """Extra compiler options from the language's allow-list."""
    proposer: Proposer = Proposer(name="user")

    @property
    def trust(self) -> Trust:
        """Sealed kernels have a host side that we wrote; open ones bring their own."""
        return "open" if self.plan is None else "sealed"

    @property
    def hash(self) -> str:
        """Identity of the kernel, 32 hex digits."""
        return content_hash(self.model_dump(mode="json", exclude={"name", "proposer"}))


class Build(Wire):
    """A kernel compiled for a target, or the compiler's own words."""

    kernel: str
    """Hash of the kernel."""
    target: Target
    status: Literal["built", "failed"]
    artifact: str | None = None
    """Path of the shared object or cubin."""
    log: str = ""
    """All that the compiler printed, positions mapped to the kernel's own sources."""
    seconds: float = 0.0
    """Time spent compiling; 0 where it came from the cache."""
    cached: bool = False
    tool: str = ""
    """Compiler and version."""
    resources: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Per entry: registers, shared bytes, spill bytes, where the compiler says."""
