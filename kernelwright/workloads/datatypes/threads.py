"""How many threads a call may use: one, in a process that was forked after threads were used.

A child has the forking thread alone, and GNU OpenMP waits in it for the others for ever. Remembered is the
process that first asked for several. Not covered: threads that other users of OpenMP had before a fork.
"""

from __future__ import annotations

import os

_first: list[int] = []
"""The process that first asked for several threads; empty until one does."""


def usable(threads: int) -> int:
    """`threads`, or 1 in a process forked after several were used."""
    if threads < 2:
        return threads
    process = os.getpid()
    if not _first:
        _first.append(process)
    return threads if _first[0] == process else 1
