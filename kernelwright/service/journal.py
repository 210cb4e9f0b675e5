"""`Journal`: the queue on disk, so that a service that was killed goes on where it was.

    {"kind": "problem", "document": {...}}                     once for each problem
    {"kind": "entry", "document": {...}}                       the last line of a ticket counts
    {"kind": "end", "ticket": ..., "state": ..., "message": ...}

A line is on disk before the client hears of it (`store.ledger`). What has ended is left out when the file
is opened next, except why something was not judged. One service at a time has the file.

Not covered: a file system on which locks do not hold between hosts. The coordinator stays on one host.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kernelwright.core.errors import EnvironmentFault, StoreError
from kernelwright.core.problem import Problem
from kernelwright.service.answer import State
from kernelwright.service.request import Entry
from kernelwright.store.document import dumps, from_document, to_document
from kernelwright.store.ledger import Ledger


class Journal:
    """One file; made by `open`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock
        self._ledger = Ledger(path)
        self.pending: dict[str, Entry] = {}
        """Entries that have not ended, oldest first."""
        self.problems: dict[str, Problem] = {}
        """Problems by hash."""
        self.unjudged: dict[str, str] = {}
        """Why tickets were not judged."""

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Read what is there and leave out what has ended.

        EnvironmentFault if another service has it, StoreError if it is no journal.
        """
        journal = cls(path, _locked(path))
        with ExitStack() as undo:
            undo.callback(journal.close)
            for _, line in journal._ledger.new_lines(0):
                if line.strip():
                    journal._take(line)
            journal._compact()
            undo.pop_all()
        return journal

    def add(self, entry: Entry, problem: Problem) -> None:
        """Keep an entry, or its newer form; on disk when this returns."""
        if problem.hash not in self.problems:
            self.problems[problem.hash] = problem
            self._append(self._ledger, _problem_line(problem))
        self.pending[entry.ticket] = entry
        self.unjudged.pop(entry.ticket, None)
        self._append(self._ledger, _entry_line(entry))

    def end(self, ticket: str, state: State, message: str = "") -> None:
        """Keep that an entry has ended."""
        self.pending.pop(ticket, None)
        if state == "unjudged":
            self.unjudged[ticket] = message
        self._append(self._ledger, _end_line(ticket, state, message))

    def close(self) -> None:
        """Let go of the file."""
        self._ledger.close()
        os.close(self._lock)

    def _take(self, line: bytes) -> None:
        where = str(self.path)
        match _record(line, where):
            case {"kind": "problem", "document": document}:
                problem = from_document(Problem, document, where)
                self.problems[problem.hash] = problem
            case {"kind": "entry", "document": document}:
                entry = from_document(Entry, document, where)
                self.pending[entry.ticket] = entry
                self.unjudged.pop(entry.ticket, None)
            case {"kind": "end", "ticket": str(ticket), "state": state, "message": str(message)}:
                self.pending.pop(ticket, None)
                if state == "unjudged":
                    self.unjudged[ticket] = message
            case _:
                raise StoreError(f"{where} is no journal of a verdict service; choose another file")

    def _compact(self) -> None:
        """Replace the file by one that holds only what is still needed."""
        used = {entry.problem for entry in self.pending.values()}
        self.problems = {hash: problem for hash, problem in self.problems.items() if hash in used}
        lines = [
            *map(_problem_line, self.problems.values()),
            *map(_entry_line, self.pending.values()),
            *(_end_line(ticket, "unjudged", message) for ticket, message in self.unjudged.items()),
        ]
        self._ledger.close()
        fresh = self.path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        ledger = Ledger(fresh)
        for line in lines:
            self._append(ledger, line)
        ledger.close()
        if lines:
            fresh.replace(self.path)
        else:
            self.path.unlink(missing_ok=True)

    @staticmethod
    def _append(ledger: Ledger, record: dict[str, Any]) -> None:
        ledger.append(dumps(record).encode(), unless=lambda: False)


def _problem_line(problem: Problem) -> dict[str, Any]:
    return {"kind": "problem", "document": to_document(problem)}


def _entry_line(entry: Entry) -> dict[str, Any]:
    return {"kind": "entry", "document": to_document(entry)}


def _end_line(ticket: str, state: State, message: str) -> dict[str, Any]:
    return {"kind": "end", "ticket": ticket, "state": state, "message": message}


def _record(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where} is no journal of a verdict service; choose another file") from error


def _locked(path: Path) -> int:
    """A file beside the journal, locked as long as this process lives."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the journal {path} cannot be written: {error.strerror}; choose another place"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise EnvironmentFault(
            f"another verdict service has the journal {path}; end that one, "
            "or give this one a --journal of its own"
        ) from error
    return handle
