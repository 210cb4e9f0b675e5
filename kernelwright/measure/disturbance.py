"""What else used the processors while a series was taken: other processes, and the hypervisor's other guests.

Read from /proc, before and after: clock ticks of all cores, and those of the processes that measure. What is
left of the busy ticks belongs to others. Not covered: what other guests do to caches and to memory.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TOLD = 0.05
"""Shares from which on a disturbance is worth a sentence."""
_IDLE, _STEAL, _FIELDS = (3, 4), 7, 8
"""Of a `cpu` line of /proc/stat (proc(5)): idle and waiting for input, stolen, and how many to count."""
_PROCESS_TICKS = slice(11, 15)
"""User and system ticks of a process, and of its children that have ended, behind its name."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """Clock ticks since boot; all 0 where the system does not tell."""

    stolen: int = 0
    busy: int = 0
    total: int = 0
    own: int = 0
    """Of the processes that measure."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Shares of all processor time between two readings; None where that is not known."""

    steal: float | None = None
    """Given to other guests by the hypervisor."""
    others: float | None = None
    """Used by other processes."""

    def words(self) -> str:
        """What a person should know of it; empty where it was quiet."""
        told = [
            f"other processes used {self.others:.0%} of the processors" if (self.others or 0) >= TOLD else "",
            f"the hypervisor gave {self.steal:.0%} of them to others" if (self.steal or 0) >= TOLD else "",
        ]
        return " and ".join(filter(None, told))


def ticks(processes: Sequence[int]) -> Ticks:
    """Ticks so far; `processes` measure, and so does this one."""
    fields = [int(field) for field in (_text("/proc/stat") or "cpu 0").split("\n")[0].split()[1:]][:_FIELDS]
    if len(fields) < _FIELDS:
        return Ticks()
    busy = sum(fields) - sum(fields[index] for index in _IDLE) - fields[_STEAL]
    own = sum(_ticks_of(pid) for pid in {os.getpid(), *processes})
    return Ticks(fields[_STEAL], busy, sum(fields), own)


def disturbance(before: Ticks, after: Ticks) -> Disturbance:
    """What happened between two readings with the same processes."""
    elapsed = after.total - before.total
    if elapsed <= 0:
        return Disturbance()
    others = (after.busy - before.busy) - (after.own - before.own)
    return Disturbance((after.stolen - before.stolen) / elapsed, max(others, 0) / elapsed)


def _ticks_of(pid: int) -> int:
    fields = (_text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    return sum(int(field) for field in fields[_PROCESS_TICKS])


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text()
    except OSError:
        return None
