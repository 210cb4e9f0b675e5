"""`this_process` and `is_gone`: whether who began something can still end it.

A process number is used again, so its mark has the host and the moment at which it started.
Not covered: processes of other hosts, of which nothing is known here.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """A mark of this process: host, process number and its start in clock ticks since the host's."""
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def is_gone(mark: str) -> bool:
    """Whether the process with this mark ran on this host and has ended; False where that is unknown."""
    host, _, rest = mark.partition(" ")
    number, _, started = rest.partition(" ")
    if host != socket.gethostname() or not number.isdigit() or not started:
        return False
    return _started(int(number)) != started


def _started(number: int) -> str:
    """Field `starttime` of proc(5); empty where there is no such process, or no such file system."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
