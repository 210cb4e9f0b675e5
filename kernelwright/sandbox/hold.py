"""Whether all threads of a process group stand still after SIGSTOP, seen from outside.

The signal is delivered to each thread when it is next scheduled, so it takes some microseconds until none
runs any more. What a filter of `seccomp` holds: no process of a worker leaves its group, and none can
send a signal to another before it has stopped itself.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kernelwright.sandbox.headcount import group_of

_STILL = "TtZX"
"""States of stopped threads, and of those that have ended (proc(5))."""


def stands_still(leader: int, *, alone: bool) -> bool:
    """Whether no thread of this group runs. `alone`: it can have no member beside its leader."""
    members = [leader] if alone else [pid for pid in _processes() if group_of(pid) == leader]
    return all(_state(f"{pid}/task/{thread}") in _STILL for pid in members for thread in _threads(pid))


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _threads(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(f"/proc/{pid}/task")
    return []


def _state(task: str) -> str:
    try:
        return Path(f"/proc/{task}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
