"""Which store to use: the database if SQLAlchemy is installed, else JSON lines in the data directory."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from kernelwright.core.config import data_dir, database_url
from kernelwright.core.errors import StoreError
from kernelwright.store.base import TrialStore

_LEDGER = "jsonl://"


def open_store(url: str | None = None) -> TrialStore:
    """The store at `url`, by default the one that the environment names.

    A URL is any SQLAlchemy URL, or `jsonl://PATH` for a file of JSON lines. StoreError if it cannot
    be opened or was written by a newer version; UsageError for a URL that is none.
    """
    wanted = url or database_url()
    if wanted.startswith(_LEDGER):
        return _ledger(Path(wanted.removeprefix(_LEDGER)).expanduser())
    if find_spec("sqlalchemy") is not None:
        from kernelwright.store.database import DatabaseStore

        return DatabaseStore.open(wanted)
    if url or os.environ.get("KERNELWRIGHT_DB"):
        raise StoreError(
            "a database was asked for, but SQLAlchemy is not installed; install it or use jsonl://PATH"
        )
    return _ledger(data_dir() / "trials.jsonl")


def _ledger(path: Path) -> TrialStore:
    from kernelwright.store.jsonl import JsonLinesStore

    return JsonLinesStore.open(path)
