"""How many processes a worker's group has, watched from outside where the kernel's own limit does not hold.

RLIMIT_NPROC exempts root, and without a user namespace it counts the user's other processes too.
So a thread of the parent looks twenty times a second at one number, how many threads there are on
the whole machine, and counts the group only when that has grown. Started only for workers that may
have child processes.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

_EVERY_S = 0.05


class Headcount:
    """Calls `kill` once the process group `group` has more than `most` members beside its leader."""

    def __init__(self, group: int, most: int, kill: Callable[[], None]) -> None:
        self._group = group
        self._most = most
        self._kill = kill
        self._over = threading.Event()
        self.exceeded = False
        """Whether it has called `kill`."""
        threading.Thread(target=self._watch, name="kernelwright-headcount", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _watch(self) -> None:
        usual = threads_here()
        while not self._over.wait(_EVERY_S):
            now = threads_here()
            if now <= usual + self._most:
                continue
            usual = now - self._most
            if members(self._group) > self._most + 1:
                self.exceeded = True
                self._kill()
                return


def threads_here() -> int:
    """Threads on this machine, of everyone; 0 where the kernel does not say."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, IndexError, ValueError):
        return 0


def members(group: int) -> int:
    """Processes in a process group, those that wait to be reaped included."""
    return sum(group_of(int(name)) == group for name in os.listdir("/proc") if name.isdigit())


def group_of(pid: int) -> int | None:
    """The process group of a process; None where there is no such process any more."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[2])
    return None
