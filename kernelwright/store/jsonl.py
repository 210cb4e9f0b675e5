"""Trials in a file of JSON lines, for machines without a database, and for exchange between stores.

A line is `{"schema": 1, "kind": "run" | "trial", "id": ..., "document": {...}}`. A run that is
updated is written again; the last line of an id counts. How the file survives crashes and many
writers is in `ledger`. Only where lines lie is kept in memory, not what they hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.core.errors import StoreError
from kernelwright.core.trial import Run, Trial
from kernelwright.core.wire import Wire
from kernelwright.store.base import SCHEMA_VERSION, TrialStore, only
from kernelwright.store.document import dumps, from_document, to_document
from kernelwright.store.ledger import Ledger

W = TypeVar("W", bound=Wire)
_Place = tuple[int, int]
"""Start and length of a line, in bytes."""


class JsonLinesStore(TrialStore):
    """A `TrialStore` in one append-only file."""

    def __init__(self, path: Path) -> None:
        self._ledger = Ledger(path)
        self._seen = 0
        self._places: dict[str, dict[str, _Place]] = {"run": {}, "trial": {}}

    @classmethod
    def open(cls, path: Path | str) -> JsonLinesStore:
        """The store in the file `path`, which is made by the first write; StoreError if it is no ledger."""
        store = cls(Path(path))
        store._catch_up()
        return store

    @property
    def place(self) -> str:
        """The file's path."""
        return str(self._ledger.path)

    def add_run(self, run: Run) -> bool:
        """Keep a run; False if its id is there already."""
        return self._append("run", run.id, run, unless_known=True)

    def add_trial(self, trial: Trial) -> bool:
        """Keep a trial; False if its id is there already. On disk when this returns."""
        return self._append("trial", trial.id, trial, unless_known=True)

    def update_run(self, run: Run) -> None:
        """Replace the run that has this id; UsageError if there is none."""
        self._catch_up()
        if run.id not in self._places["run"]:
            only("run", run.id, [], self.place)
        self._append("run", run.id, run, unless_known=False)

    def run(self, id: str) -> Run:
        """The run with this id, or whose id alone begins so."""
        return self._load(Run, self._named("run", id))

    def trial(self, id: str) -> Trial:
        """The trial with this id, or whose id alone begins so."""
        return self._load(Trial, self._named("trial", id))

    def runs(self, problem: str | None = None) -> list[Run]:
        """Runs, oldest first; of one problem if given."""
        found = self._all(Run, "run")
        return sorted(
            (run for run in found if problem in (None, run.problem.hash)), key=lambda run: run.created
        )

    def trials(self, run: str | None = None, problem: str | None = None) -> Iterator[Trial]:
        """Trials as they were added; of one run and one problem if given."""
        for trial in self._all(Trial, "trial"):
            if run in (None, trial.run) and problem in (None, trial.evaluation.problem):
                yield trial

    def close(self) -> None:
        """Close the file."""
        self._ledger.close()

    def _append(self, kind: str, id: str, noun: Wire, *, unless_known: bool) -> bool:
        record = {"schema": SCHEMA_VERSION, "kind": kind, "id": id, "document": to_document(noun)}

        def known() -> bool:
            self._catch_up()
            return unless_known and id in self._places[kind]

        return self._ledger.append(dumps(record).encode(), unless=known)

    def _catch_up(self) -> None:
        """Learn where the lines lie that were added since the last look."""
        if self._ledger.size() + 1 < self._seen:  # it was cut off: what is known of it no longer holds
            self._seen, self._places = 0, {"run": {}, "trial": {}}
        for start, line in self._ledger.new_lines(self._seen):
            if line.strip():
                record = self._record(line, start)
                self._places[record["kind"]][record["id"]] = (start, len(line))
            self._seen = start + len(line) + 1

    def _record(self, line: bytes, start: int) -> dict[str, Any]:
        try:
            match json.loads(line):
                case {"schema": int(schema), "kind": "run" | "trial", "id": str()} as record:
                    if schema <= SCHEMA_VERSION:
                        return dict(record)
                    raise StoreError(
                        f"{self.place} was written by a newer Kernelwright (schema {schema}; this one "
                        f"reads up to {SCHEMA_VERSION}); upgrade, or choose another place"
                    )
        except (ValueError, RecursionError):
            pass
        raise StoreError(
            f"{self.place} is no ledger of trials: the line at byte {start} is not a record of one"
        )

    def _named(self, kind: str, id: str) -> _Place:
        self._catch_up()
        places = self._places[kind]
        return places[only(kind, id, [known for known in places if known.startswith(id)], self.place)]

    def _all(self, noun: type[W], kind: str) -> Iterator[W]:
        self._catch_up()
        for place in list(self._places[kind].values()):
            yield self._load(noun, place)

    def _load(self, noun: type[W], place: _Place) -> W:
        line = self._ledger.line_at(*place)
        return from_document(
            noun, self._record(line, place[0]).get("document"), f"{self.place} at byte {place[0]}"
        )
