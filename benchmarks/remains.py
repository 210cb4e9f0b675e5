"""What workers leave behind: processes, files, locks, descriptors, mounts, memory.

Other programs may run on the machine, so a process counts as ours if it is a child of this one or in the
process group of a worker that was watched, and a file if it lies in our temporary folder. New names in
shared memory are listed whoever made them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 10.0
"""How long what was told to end may take."""
MIB = 1 << 20


class Remains:
    """What there was at the beginning, and which workers there have been since."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where this process and what it starts put temporary files."""
        self._folder = folder
        self._groups: set[int] = set()
        self._children = {number for number, _ in self._ours()}
        self._shared = set(os.listdir("/dev/shm"))
        self._descriptors = len(os.listdir("/proc/self/fd"))
        self._mounts = Path("/proc/self/mounts").read_text()
        self._memory: list[int] = []

    def watch(self, *workers: int) -> None:
        """Note process numbers of workers; each leads a process group of its own."""
        self._groups.update(workers)

    def settled(self) -> None:
        """Note how much memory this process has now, where no bench is open."""
        self._memory.append(_resident_bytes())

    def found(self) -> dict[str, Any]:
        """What is left, by kind; all empty or zero where nothing is."""
        _wait_until(lambda: not self._processes())
        half = self._memory[len(self._memory) // 2 :]
        return {
            "processes": self._processes(),
            "files": sorted(path.name for path in self._folder.iterdir()),
            "shared_memory": sorted(set(os.listdir("/dev/shm")) - self._shared),
            "locks": self._locks(),
            "descriptors": len(os.listdir("/proc/self/fd")) - self._descriptors,
            "mounts_changed": Path("/proc/self/mounts").read_text() != self._mounts,
            "memory_grew_mib": round((half[-1] - half[0]) / MIB, 1) if half else 0.0,
        }

    def _processes(self) -> list[str]:
        """Number, name and state of each that was not there at the beginning."""
        return [line for number, line in self._ours() if number not in self._children]

    def _ours(self) -> Iterator[tuple[int, str]]:
        """Children of this process, and all in the groups of watched workers."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                head, _, tail = Path(f"/proc/{name}/stat").read_text().rpartition(")")
                state, parent, group = tail.split()[:3]
                if int(parent) == os.getpid() or int(group) in self._groups:
                    yield int(name), f"{head})  {state}"

    def _locks(self) -> list[str]:
        """File locks of this process or of a watched one."""
        own = {os.getpid(), *self._groups}
        lines = Path("/proc/locks").read_text().splitlines()
        return [line for line in lines if int(line.replace("->", "").split()[4]) in own]


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
