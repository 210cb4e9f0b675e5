"""Where a kernel runs: the host's cores, or one CUDA device."""

from __future__ import annotations

from typing import Literal

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.wire import Wire

TargetName = Literal["cpu", "cuda"]
_MEANT = {"gpu": "cuda", "nvidia": "cuda", "host": "cpu"}
"""Other words for a target, each with the name that is meant."""


class Target(Wire):
    """A kind of device and the instruction set that is built for."""

    name: TargetName
    """`cpu` or `cuda`."""
    arch: str
    """`native` on a CPU; on CUDA a real architecture such as `sm_90a`."""
    threads: int = 0
    """Cores that a CPU kernel may use; 0 means all that the process is allowed."""

    @classmethod
    def parse(cls, text: str) -> Target:
        """`cpu`, `cuda` (sm_90a) or `cuda:sm_90`."""
        name, _, arch = text.partition(":")
        if name == "cpu" and not arch:
            return cls(name="cpu", arch="native")
        if name == "cuda" and (not arch or arch.startswith("sm_")):
            return cls(name="cuda", arch=arch or "sm_90a")
        meant = _MEANT.get(name.lower(), text.lower())
        raise UsageError(f"unknown target '{text}'; {did_you_mean(meant, ['cpu', 'cuda', 'cuda:sm_90'])}")
