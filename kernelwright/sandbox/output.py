"""The end of what a worker prints. A thread drains the pipe, so a worker never blocks on printing."""

from __future__ import annotations

import os
import threading


class Output:
    """Keeps the last `keep` bytes that come out of a pipe; owns its reading end."""

    def __init__(self, pipe: int, keep: int) -> None:
        self._pipe = pipe
        self._keep = keep
        self._tail = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, name="kernelwright-output", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """What is kept, as text; undecodable bytes are replaced."""
        with self._lock:
            return self._tail.decode(errors="replace").strip()

    def finish(self, timeout_s: float) -> None:
        """Wait for the end of the pipe, which is when every process that can write to it has ended."""
        self._thread.join(timeout_s)

    def _drain(self) -> None:
        try:
            while data := os.read(self._pipe, 1 << 16):
                with self._lock:
                    self._tail += data
                    del self._tail[: -self._keep]
        finally:
            os.close(self._pipe)
