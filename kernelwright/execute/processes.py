"""Which processes a bench consists of, and how each is started.

| | reference | candidate | baselines |
|---|---|---|---|
| `OnHost` | trusted | confined | the reference's process, then one of their own |
| `OnDevice` | trusted | ours: sealed kernels bring no host code | the candidate's process |
| `OpenOnDevice` | trusted | confined, with the device | a process of their own |

All begin at once and get ready side by side: the first call of each waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from kernelwright.core.errors import UsageError
from kernelwright.execute.native import PATH_VARIABLE, compiled
from kernelwright.execute.post import Post
from kernelwright.execute.worker_environment import (
    bytecode_environment,
    compiler_environment,
    device_environment,
    timed_environment,
)
from kernelwright.sandbox import Limits, Worker

OPS = "kernelwright.execute.ops"
TRACER, COMPILER = ("torch.export._trace",), ("torch._inductor.compile_fx",)
"""What a process imports beforehand that makes what is expected, or compiles baselines."""


class Processes(Protocol):
    """How the processes of one bench begin."""

    together: bool
    """Whether baselines run in the candidate's process."""
    apart: bool
    """Whether they have a process of their own from the start."""
    stands_by: bool
    """Whether a second process for candidates waits for the first to be given up."""

    def reference(self) -> Worker:
        """The process that holds the truth."""

    def candidate(self, name: str) -> Worker:
        """A process for kernels."""

    def baselines(self, name: str, *, compiles: bool) -> Worker:
        """A process for baselines; `compiles`: some of them will be compiled."""

    def close(self) -> None:
        """Free what was shared with them."""


class OnHost:
    """On a CPU: all on the cores that are timed, one at a time active."""

    together = apart = stands_by = False

    def __init__(self, cores: tuple[int, ...], limits: Limits, arena: int) -> None:
        """`arena` is the descriptor of the memory that they share."""
        self._cores, self._limits, self._arena = cores, limits, arena

    def reference(self) -> Worker:
        """Makes what is expected."""
        return self._start("reference", Limits.trusted(), TRACER)

    def candidate(self, name: str) -> Worker:
        """Under the candidate's limits."""
        return self._start(name, self._limits, ())

    def baselines(self, name: str, *, compiles: bool) -> Worker:
        """Ours."""
        return self._start(name, Limits.trusted(), COMPILER if compiles else ())

    def close(self) -> None:
        """Nothing is held."""

    def _start(self, name: str, limits: Limits, also: tuple[str, ...]) -> Worker:
        env = {
            **_ours(),
            **({} if limits.contained else compiler_environment()),  # else it compiles into its own scratch
            **timed_environment(len(self._cores)),
        }
        preload, fds = ("torch", OPS, *also), (self._arena,)
        return Worker.start(name, limits, self._cores, env, preload, pass_fds=fds, wait=False)


class OnDevice:
    """On a GPU, for sealed kernels: two contexts, and a third process that stands by."""

    together = stands_by = True
    apart = False

    def reference(self) -> Worker:
        """Makes what is expected."""
        return _trusted("reference", TRACER)

    def candidate(self, name: str) -> Worker:
        """For kernels, and baselines beside them."""
        return standby(name)

    def baselines(self, name: str, *, compiles: bool) -> Worker:
        """The candidate's process is where they run."""
        raise UsageError("baselines beside sealed kernels on a GPU have no process of their own")

    def close(self) -> None:
        """Nothing is held."""


class OpenOnDevice:
    """On a GPU, for kernels that bring Python: three contexts, and a post for each process."""

    together = False
    apart = stands_by = True

    def __init__(self, limits: Limits) -> None:
        """`limits` are the candidate's; a device is added, and addresses are not bounded with one."""
        self._limits = replace(limits, devices=True, address_space=False)
        self.from_reference, self.to_candidate, self.to_baselines = Post(), Post(), Post()

    def reference(self) -> Worker:
        """Makes what is expected, and parcels."""
        return _trusted("reference", TRACER, self.from_reference)

    def candidate(self, name: str) -> Worker:
        """Confined."""
        env = {**_ours(), **device_environment()}
        fds = (self.to_candidate.theirs,)
        return Worker.start(name, self._limits, None, env, ("torch", OPS), pass_fds=fds, wait=False)

    def baselines(self, name: str, *, compiles: bool) -> Worker:
        """Ours."""
        return standby(name, self.to_baselines)

    def close(self) -> None:
        """Close the posts."""
        for post in (self.from_reference, self.to_candidate, self.to_baselines):
            post.close()


def standby(name: str, post: Post | None = None) -> Worker:
    """Begin a process of ours on a GPU, for baselines and sealed kernels."""
    return _trusted(name, COMPILER, post, {**compiler_environment(), **device_environment()})


def _trusted(
    name: str, also: tuple[str, ...], post: Post | None = None, env: Mapping[str, str] | None = None
) -> Worker:
    fds, env = () if post is None else (post.theirs,), {**_ours(), **(env or {})}
    return Worker.start(name, Limits.trusted(), None, env, ("torch", OPS, *also), pass_fds=fds, wait=False)


def _ours() -> dict[str, str]:
    """Where the launcher is, and Python's bytecode."""
    return {PATH_VARIABLE: str(compiled()), **bytecode_environment()}
