"""Progress on stderr: one line that changes on a terminal, or lines in a log.

In a log a stage is said when it begins, and within seconds what goes on in it; while one thing goes on, its
line comes again, with how long it has been going, so that no wait is silent for `QUIET_S`. While progress
is shown, what a user's own code prints goes to stderr too: stdout is for the result alone.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import redirect_stdout, suppress
from threading import Event, RLock, Thread
from types import TracebackType
from typing import Any

import click

QUIET_S = 20.0
"""Longest time without a line in a log."""
_LOG_EVERY_S = 5.0
_GLANCE_S = 5.0
"""How often a wait is looked at; seldom, because something may be timed meanwhile."""


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
        self._event: dict[str, Any] = {}
        self._came = self._begun
        """When the last event came."""
        self._said = self._begun
        """When the last line was written."""
        self._stages: set[str] = set()
        """Those that have begun."""
        self._unsaid = False
        """Whether the last event has had no line yet."""
        self._width = 0
        self._lock = RLock()  # of the thread below; an interrupt may come while it is held
        self._left = Event()
        self._watch = Thread(target=self._look, name="progress", daemon=True)
        self._redirected = redirect_stdout(sys.stderr)

    def __enter__(self) -> Progress:
        self._redirected.__enter__()
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._watch.join()
        self._redirected.__exit__(kind, error, trace)
        if self._live and self._width:
            click.echo(err=True)

    def update(self, event: dict[str, Any]) -> None:
        """Show one event."""
        with self._lock:
            now = time.monotonic()
            self._event, self._came, self._unsaid = event, now, True
            new = str(event.get("stage")) not in self._stages
            if self._live or new or now - self._said >= _LOG_EVERY_S:
                self._say(now)

    def remind(self) -> None:
        """Say what had no line yet, or what still goes on, where it is time to."""
        with self._lock:
            now = time.monotonic()
            pause = _LOG_EVERY_S if self._unsaid else QUIET_S - _GLANCE_S
            if self._event and (self._live or now - self._said >= pause):
                self._say(now)

    def _look(self) -> None:
        while not self._left.wait(_GLANCE_S):
            self.remind()

    def _say(self, now: float) -> None:
        line = _line(self._event, now - self._begun, now - self._came)
        self._said, self._unsaid = now, False
        self._stages.add(str(self._event.get("stage")))
        if not self._live:
            click.echo(line, err=True)
            return
        room = _columns() - 1  # a line that wraps could not be written over
        click.echo("\r" + line.ljust(self._width)[:room], nl=False, err=True)
        self._width = min(len(line), room)


def _line(event: dict[str, Any], elapsed_s: float, since_s: float) -> str:
    """An event in words; `since_s` is how long ago it came."""
    parts = [f"{elapsed_s:5.1f}s", str(event.get("stage", ""))]
    if event.get("done") is not None:
        parts.append(f"{event['done']} done")
    if event.get("best_us") is not None:
        parts.append(f"best {event['best_us']:,.0f} us{_beside(event)}")
    if event.get("message"):
        parts.append(str(event["message"]))
    if since_s >= _GLANCE_S / 2:
        parts.append(f"(for {since_s:.0f} s)")
    return "  ".join(parts)


def _beside(event: dict[str, Any]) -> str:
    """How the best compares with what it was timed beside, as far as a quick look tells."""
    ci, over = event.get("speedup_ci"), event.get("over")
    if not ci or not over:
        return ""
    against = f"{over} ({event['over_us']:,.0f} us)"
    if event.get("status") in ("unresolved", "degenerate"):
        return f", {event['status']} beside {against} so far"
    return f", {ci[0]:.2f}x to {ci[1]:.2f}x over {against} so far"
