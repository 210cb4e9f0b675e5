"""Progress on stderr: one line that changes on a terminal, or a line per event in a log.

While it is shown, what a user's own code prints goes to stderr too: stdout is for the result alone.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import redirect_stdout, suppress
from types import TracebackType
from typing import Any

import click

_LOG_EVERY_S = 5.0


def _columns() -> int:
    """Width of the terminal at stderr; 80 where it does not say."""
    with suppress(OSError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


class Progress:
    """Shows `on_progress` events: stage, trials done, best so far."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._last = (0.0, "")
        self._width = 0
        self._redirected = redirect_stdout(sys.stderr)

    def __enter__(self) -> Progress:
        self._redirected.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._redirected.__exit__(kind, error, trace)
        if self._live and self._width:
            click.echo(err=True)

    def update(self, event: dict[str, Any]) -> None:
        """Show one event."""
        line = self._line(event)
        if self._live:
            room = _columns() - 1  # a line that wraps could not be written over
            click.echo("\r" + line.ljust(self._width)[:room], nl=False, err=True)
            self._width = min(len(line), room)
        elif self._due(event):
            click.echo(line, err=True)

    def _due(self, event: dict[str, Any]) -> bool:
        now, stage = time.monotonic(), str(event.get("stage"))
        last, shown = self._last
        if stage == shown and now - last < _LOG_EVERY_S:
            return False
        self._last = (now, stage)
        return True

    def _line(self, event: dict[str, Any]) -> str:
        parts = [f"{time.monotonic() - self._begun:5.1f}s", str(event.get("stage", ""))]
        if event.get("done") is not None:
            parts.append(f"{event['done']} done")
        if event.get("best_us") is not None:
            best = f"best {event['best_us']:,.0f} us"
            speedup = event.get("speedup")
            parts.append(best + (f" ({speedup:.2f}x)" if speedup is not None else ""))
        if event.get("message"):
            parts.append(str(event["message"]))
        return "  ".join(parts)
