"""Ctrl-C, SIGTERM, a terminal that closes: end what runs, so that workers and files are cleared away, but
not in mid-import.

A module of native code of which half was imported aborts the process when it is imported again, which
other libraries do while they clear up. So an import is waited for, `PATIENCE_S` at most.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from kernelwright.search.interrupt import heeded

ASK_AGAIN_S = 0.05
PATIENCE_S = 10.0


def interruptible() -> None:
    """Let signals that ask for the end raise KeyboardInterrupt in the main thread, between imports."""
    if threading.current_thread() is threading.main_thread():
        signals = _Interrupt()
        for number in (*heeded(), signal.SIGALRM):
            signal.signal(number, signals.handle)


class _Interrupt:
    """Remembers since when an interrupt waits."""

    def __init__(self) -> None:
        self._since: float | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise now, or ask again after a moment (by SIGALRM)."""
        self._since = self._since or time.monotonic()
        if _importing(frame) and time.monotonic() - self._since < PATIENCE_S:
            signal.setitimer(signal.ITIMER_REAL, ASK_AGAIN_S)
            return
        self._since = None
        raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
