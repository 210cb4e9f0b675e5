"""Put limits on the process that calls it, layer by layer, before it runs anything else.

The order matters: capacity first, then namespaces (they need a process with one thread), then the
promise never to gain privileges, then Landlock and last seccomp, which forbids what the layers
before it used. A layer that the machine lacks is reported and left out, never an error; what this
machine enforces is `enforced()`. Parents keep one right over contained workers: to read their
memory, because the outside clock samples outputs so.
"""

from __future__ import annotations

import glob
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernelwright.core.errors import EnvironmentFault
from kernelwright.sandbox import kernel_calls, landlock, namespaces, seccomp
from kernelwright.sandbox.limits import GIB, MIB, Limits

LAYERS = ("namespaces", "landlock", "seccomp", "rlimits")
Layers = dict[str, bool | str]
"""By layer: True where it is in force, else why it is not."""

_PLAIN_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_OWN_THREADS = "/proc/self/task"
"""CUDA's driver names its threads by writing here, and gives up (error 304) where it may not."""
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys", "/dev", "/opt", "/run")
_STACKS_PER_CORE = 72 * MIB
_LIBRARIES = 4 * GIB
_THREADS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class Parent:
    """What ties a worker to its parent."""

    pid: int
    lifeline: int
    """Descriptor whose closing at the parent's end kills the worker's group."""


def confine(limits: Limits, parent: Parent) -> Layers:
    """Apply `limits` to this process for good; returns what is in force."""
    if not kernel_calls.AVAILABLE:
        return dict.fromkeys(LAYERS, f"not on {sys.platform}")
    _prefer_as_victim(limits)
    layers: Layers = {"rlimits": _attempt(lambda: _capacity(limits))}
    if limits.contained:
        layers |= _contain(limits, parent)
    else:
        layers |= dict.fromkeys(("namespaces", "landlock", "seccomp"), "not asked for")
    return layers


@lru_cache(maxsize=1)
def enforced() -> Layers:
    """Which layers this machine enforces on a candidate: tried out in a real worker, once."""
    from kernelwright.sandbox.errors import WorkerFailure
    from kernelwright.sandbox.worker import Worker

    try:
        worker = Worker.start("probe", Limits.candidate())
    except (WorkerFailure, EnvironmentFault) as error:
        return dict.fromkeys(LAYERS, str(error))
    worker.stop()
    return worker.layers


def _contain(limits: Limits, parent: Parent) -> Layers:
    kernel_calls.prctl(kernel_calls.PR_SET_NO_NEW_PRIVS, 1)
    layers: Layers = {"namespaces": _attempt(lambda: _enter_namespaces(limits))}
    isolated = layers["namespaces"] is True
    if isolated and limits.processes:
        _bound_processes(limits.processes)
    # Changes of credentials clear it, and without it the parent could not read this memory.
    kernel_calls.prctl(kernel_calls.PR_SET_DUMPABLE, 1)
    layers["landlock"] = _attempt(lambda: _restrict_files(limits, isolated))
    rules = seccomp.rules(
        network=limits.network,
        threads_only=limits.processes == 0,
        own_pid=os.getpid(),
        parent_pid=parent.pid,
        lifeline=parent.lifeline,
    )
    layers["seccomp"] = _attempt(lambda: seccomp.restrict(rules))
    return layers


def _attempt(layer: Callable[[], None]) -> bool | str:
    try:
        layer()
    except (OSError, ValueError) as error:
        return f"refused by this machine: {error}"
    return True


def _prefer_as_victim(limits: Limits) -> None:
    """When memory runs out, the kernel is to end the worker and not its parent."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000" if limits.contained else "500")
    except OSError:
        return


def _capacity(limits: Limits) -> None:
    wanted: dict[int, int | None] = {
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_CORE: 0,
    }
    if limits.address_space and limits.memory_bytes is not None:
        room = _LIBRARIES + _STACKS_PER_CORE * len(os.sched_getaffinity(0))
        wanted[resource.RLIMIT_AS] = limits.memory_bytes + room
    for kind, most in wanted.items():
        if most is not None:
            _lower(kind, most)


def _lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard - (kind == resource.RLIMIT_CPU))
    # One second between the two limits of time, so that SIGXCPU comes before SIGKILL.
    resource.setrlimit(kind, (bound, bound + 1 if kind == resource.RLIMIT_CPU else bound))


def _bound_processes(processes: int) -> None:
    """Inside its user namespace an ordinary user's worker is counted by itself; see also `headcount`."""
    threads = 64 + _THREADS_PER_CORE * len(os.sched_getaffinity(0))
    _lower(resource.RLIMIT_NPROC, processes + threads)


def _enter_namespaces(limits: Limits) -> None:
    namespaces.enter(network=limits.network, scratch_bytes=limits.scratch_bytes)


def _restrict_files(limits: Limits, isolated: bool) -> None:
    if limits.writable is None and limits.readable is None:
        return
    scratch = [namespaces.SCRATCH] if isolated else []
    gpus = [*glob.glob("/dev/nvidia*"), _OWN_THREADS] if limits.devices else []
    writable = ["/"] if limits.writable is None else [*limits.writable, *scratch, *_PLAIN_DEVICES, *gpus]
    readable = None
    if limits.readable is not None:
        readable = [*limits.readable, *_SYSTEM, sys.prefix, sys.base_prefix, *filter(None, sys.path)]
    landlock.restrict(writable, readable, limits.network)
