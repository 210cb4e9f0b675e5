"""Trials in a database, through SQLAlchemy: SQLite by default, any other by its URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from sqlalchemy import Engine, Select, Table, insert, select, update
from sqlalchemy.exc import IntegrityError

from kernelwright.core.config import database_url
from kernelwright.core.trial import Run, Trial
from kernelwright.core.wire import Wire
from kernelwright.store import tables
from kernelwright.store.base import TrialStore, only
from kernelwright.store.connection import connect, guarded, place_of
from kernelwright.store.document import from_document

W = TypeVar("W", bound=Wire)
_AT_ONCE = 100


class DatabaseStore(TrialStore):
    """A `TrialStore` in a database; each write is a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: str | None = None) -> DatabaseStore:
        """Open, or make, the database at `url` (default: what the environment names)."""
        return cls(connect(url or database_url()))

    @property
    def place(self) -> str:
        """Its URL, without a password."""
        return place_of(self._engine.url)

    def add_run(self, run: Run) -> bool:
        """Keep a run; False if its id is there already."""
        return self._add(tables.runs, tables.run_row(run))

    def add_trial(self, trial: Trial) -> bool:
        """Keep a trial; False if its id is there already. Committed when this returns."""
        return self._add(tables.trials, tables.trial_row(trial))

    def update_run(self, run: Run) -> None:
        """Replace the run that has this id; UsageError if there is none."""
        row = tables.run_row(run)
        with guarded(self._engine, "written"), self._engine.begin() as connection:
            changed = connection.execute(
                update(tables.runs).where(tables.runs.c.id == run.id).values(row)
            ).rowcount
        if not changed:
            only("run", run.id, [], self.place)

    def run(self, id: str) -> Run:
        """The run with this id, or whose id alone begins so."""
        return self._named(Run, tables.runs, id)

    def trial(self, id: str) -> Trial:
        """The trial with this id, or whose id alone begins so."""
        return self._named(Trial, tables.trials, id)

    def runs(self, problem: str | None = None) -> list[Run]:
        """Runs, oldest first; of one problem if given."""
        return list(self._read(Run, _chosen(tables.runs, problem=problem)))

    def trials(self, run: str | None = None, problem: str | None = None) -> Iterator[Trial]:
        """Trials, oldest first; of one run and one problem if given."""
        return self._read(Trial, _chosen(tables.trials, run=run, problem=problem))

    def best(self, problem: str, target: str | None = None) -> Trial | None:
        """The fastest accepted trial of a problem, on one kind of target if given."""
        columns = tables.trials.c
        query = _chosen(tables.trials, problem=problem, target=target).where(columns.latency_us.is_not(None))
        return next(self._read(Trial, query.order_by(None).order_by(columns.latency_us).limit(1)), None)

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    def _add(self, table: Table, row: dict[str, Any]) -> bool:
        with guarded(self._engine, "written"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(table).values(row))
            except IntegrityError:
                return False
        return True

    def _named(self, kind: type[W], table: Table, id: str) -> W:
        named = select(table.c.id).where(table.c.id.startswith(id, autoescape=True)).limit(_AT_ONCE)
        with guarded(self._engine, "read"), self._engine.connect() as connection:
            found = list(connection.execute(named).scalars())
        exact = only(kind.__name__.lower(), id, found, self.place)
        return next(self._read(kind, select(table.c.id, table.c.document).where(table.c.id == exact)))

    def _read(self, kind: type[W], query: Select[Any]) -> Iterator[W]:
        with guarded(self._engine, "read"), self._engine.connect() as connection:
            for id, document in connection.execute(query.execution_options(yield_per=_AT_ONCE)):
                yield from_document(kind, document, f"{id} in {self.place}")


def _chosen(table: Table, **keys: str | None) -> Select[Any]:
    query = select(table.c.id, table.c.document).order_by(table.c.created, table.c.id)
    for name, value in keys.items():
        if value is not None:
            query = query.where(table.c[name] == value)
    return query
