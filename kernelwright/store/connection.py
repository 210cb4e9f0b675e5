"""Opening the trial database: any SQLAlchemy URL; SQLite set up for many writers and sure commits.

SQLite runs with a write-ahead log, so readers and the one writer do not wait for each other, and
with full synchronization: a committed trial survives the loss of power. Writers wait for their turn
up to `_PATIENCE_S`. Source: sqlite.org/pragma.html, sqlite.org/wal.html.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, insert, make_url, select
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoResultFound,
    NoSuchModuleError,
    SQLAlchemyError,
)

from kernelwright.core.errors import InternalFault, StoreError, UsageError, first_line
from kernelwright.store import tables
from kernelwright.store.base import SCHEMA_VERSION
from kernelwright.store.document import dumps

_PATIENCE_S = 60.0
_ATTEMPTS = 10
_PAUSE_S = 0.05
_SIGNS_OF_COMPANY = ("already exists", "locked")


def connect(text: str) -> Engine:
    """An engine whose tables exist and have this version; StoreError, UsageError."""
    url = _parsed(text)
    _make_directory(url)
    url = _unchanging(url)
    try:
        sqlite = url.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"connect_args": {"timeout": _PATIENCE_S}} if sqlite else {}
        engine = create_engine(url, json_serializer=dumps, **options)
    except (ImportError, NoSuchModuleError, ArgumentError) as error:
        raise StoreError(f"no driver for the trial store {place_of(url)}: {first_line(error)}") from error
    if sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
    _check_schema(engine)
    return engine


def place_of(url: URL) -> str:
    """A URL for messages, without its password."""
    return url.render_as_string(hide_password=True)


@contextmanager
def guarded(engine: Engine, verb: str) -> Iterator[None]:
    """Turn what the database raises into one line: that the store cannot be read, or written, and why."""
    try:
        yield
    except SQLAlchemyError as error:
        reason = first_line(error.orig) if isinstance(error, DBAPIError) and error.orig else first_line(error)
        raise StoreError(
            f"the trial store {place_of(engine.url)} cannot be {verb}: {reason}; "
            "free space or permissions there, or set KERNELWRIGHT_DB to another place"
        ) from error


def _parsed(text: str) -> URL:
    try:
        return make_url(text)
    except ArgumentError as error:
        raise UsageError(
            "KERNELWRIGHT_DB is no SQLAlchemy URL; write one like sqlite:////path/to/trials.db"
        ) from error


def _unchanging(url: URL) -> URL:
    """The URL itself; of a SQLite file in a directory that cannot be written, one that only reads it."""
    file = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
    if file is None or not file.is_file() or os.access(file.parent, os.W_OK):
        return url
    return url.set(database=f"file:{file}", query={"immutable": "1", "uri": "true"})


def _make_directory(url: URL) -> None:
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return
    try:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the trial store's directory cannot be made: {error}; set KERNELWRIGHT_DB to another place"
        ) from error


def _set_up_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA synchronous=FULL")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
        # Refused while another process does the same, and on a read-only disk: safe without, only slower.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=WAL")


def _check_schema(engine: Engine) -> None:
    with guarded(engine, "opened"):
        found = _version(engine)
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"the trial store {place_of(engine.url)} was written by a newer Kernelwright (schema {found}; "
            f"this one reads up to {SCHEMA_VERSION}); upgrade, or set KERNELWRIGHT_DB to another place"
        )


def _version(engine: Engine) -> int:
    """The schema's version; makes the tables first where there are none."""
    for attempt in range(_ATTEMPTS):
        try:
            return _read_version(engine)
        except (DBAPIError, NoResultFound):
            if attempt == _ATTEMPTS - 1:
                raise
            _make_tables(engine)
        time.sleep(_PAUSE_S * attempt)
    raise InternalFault("the last attempt neither returned nor raised")


def _read_version(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(select(tables.schema.c.version)).scalars().one())


def _make_tables(engine: Engine) -> None:
    """Make what is missing. Of several processes that do so at once, the later ones find it made."""
    try:
        tables.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(insert(tables.schema).values(version=SCHEMA_VERSION))
    except IntegrityError:
        return
    except DBAPIError as error:
        if not any(sign in str(error) for sign in _SIGNS_OF_COMPANY):
            raise
