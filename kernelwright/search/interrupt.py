"""Ctrl-C, SIGTERM, or a terminal that closes, as a request: the trial under way is finished and stored,
then the search ends.

The second one interrupts at once. Works in the main thread of a process; elsewhere signals are
left alone and `Interrupts.asked` stays False.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


def heeded() -> list[signal.Signals]:
    """The signals that ask for the end. `nohup` has a terminal that closes ignored, and so do we."""
    return [
        number
        for number in SIGNALS
        if number in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(number) != signal.SIG_IGN
    ]


class Interrupts:
    """Context manager: `asked` turns True at the first signal; the second raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in heeded()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
