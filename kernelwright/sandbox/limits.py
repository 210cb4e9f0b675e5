"""`Limits`: what a worker may use. Presets: `trusted` for our own code, `candidate` for code under judgement.

Time is no part of it: each call carries its own limit. How limits are enforced, and which of them
this machine can enforce, is in `confine`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath

GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one worker may use. `None` means no limit."""

    memory_bytes: int | None = None
    """Private writable memory of each process of the worker (RLIMIT_DATA)."""
    address_space: bool = False
    """Also bound the whole address space, some GiB above `memory_bytes`, so that shared mappings
    count. Not with CUDA, whose driver reserves addresses by the hundred GiB."""
    cpu_s: int | None = None
    """Processor seconds over the worker's whole life."""
    file_bytes: int | None = None
    """Size of any one file that it writes."""
    open_files: int | None = None
    """Open file descriptors."""
    processes: int | None = None
    """Child processes, of a contained worker. 0: threads only. Above 0: killed when it has more."""
    network: bool = True
    """Whether it may reach the network, and sockets that others listen on."""
    writable: tuple[str, ...] | None = None
    """Directories and files that it may write, beside its own scratch. `None`: wherever the user may."""
    readable: tuple[str, ...] | None = None
    """Directories and files that it may read, beside Python, its imports and the system's libraries.
    `None`: wherever the user may."""
    devices: bool = True
    """Whether it may open GPUs."""
    contained: bool = False
    """Apply namespaces, Landlock and seccomp, as far as this machine has them."""
    scratch_bytes: int = 2 * GIB
    """Size of its private temporary directory, in memory, which vanishes with it (contained workers)."""
    reply_bytes: int = 16 * MIB
    """Longest reply that is accepted."""
    output_bytes: int = 64 << 10
    """How much of the end of its printed output is kept."""

    @classmethod
    def trusted(cls) -> Limits:
        """For our own code: bounded by the machine alone, but killed with its parent."""
        return cls(reply_bytes=256 * MIB)

    @classmethod
    def candidate(
        cls,
        memory_bytes: int = 16 * GIB,
        *,
        device: bool = False,
        processes: int = 0,
        writable: Iterable[str | PathLike[str]] = (),
        readable: Iterable[str | PathLike[str]] | None = None,
    ) -> Limits:
        """For code under judgement: no network, no files written but scratch, no foreign processes.

        `device` lets it use GPUs. `processes` above 0 is for open kernels that run compilers.
        """
        return cls(
            memory_bytes=memory_bytes,
            address_space=not device,
            file_bytes=4 * GIB,
            open_files=1024,
            processes=processes,
            network=False,
            writable=tuple(fspath(path) for path in writable),
            readable=None if readable is None else tuple(fspath(path) for path in readable),
            devices=device,
            contained=True,
        )
