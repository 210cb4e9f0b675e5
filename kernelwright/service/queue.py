"""`Queue`: the requests that wait, in the order in which lanes take them.

Higher priorities first, then older ones. At equal priority a lane prefers the problem whose workers it has
open, because opening another takes seconds, unless somebody has waited for `PATIENCE_S` by then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from kernelwright.service.request import Entry

PATIENCE_S = 60.0


class Queue:
    """Entries by ticket; at most `capacity` of clients, held-out ones beside them."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._entries: dict[str, Entry] = {}

    def __len__(self) -> int:
        """Clients' entries."""
        return sum(not entry.held_out for entry in self._entries.values())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __contains__(self, ticket: str) -> bool:
        return ticket in self._entries

    @property
    def full(self) -> bool:
        """Whether a client's next request must be refused."""
        return len(self) >= self.capacity

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one with its ticket; also beyond the capacity: one that comes back
        from a lane is never refused."""
        self._entries[entry.ticket] = entry

    def take(self, problem: str | None = None, now: float | None = None) -> Entry | None:
        """Remove and return the next entry for a lane that has the workers of `problem` (a hash) open."""
        if not self._entries:
            return None
        now = time.time() if now is None else now
        chosen = min(self._entries.values(), key=_order)
        if now - chosen.created < PATIENCE_S:
            same = [
                entry
                for entry in self._entries.values()
                if entry.problem == problem and entry.priority == chosen.priority
            ]
            chosen = min(same, key=_order, default=chosen)
        return self._entries.pop(chosen.ticket)

    def drop(self, ticket: str) -> None:
        """Forget an entry."""
        self._entries.pop(ticket, None)

    def ahead(self, ticket: str) -> int | None:
        """Entries before this one; None if it does not wait here."""
        own = self._entries.get(ticket)
        if own is None:
            return None
        return sum(_order(entry) < _order(own) for entry in self._entries.values())


def _order(entry: Entry) -> tuple[int, float, str]:
    return (-entry.priority, entry.created, entry.ticket)
