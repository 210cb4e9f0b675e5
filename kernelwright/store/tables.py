"""Tables of the trial database: a JSON document per run and trial, beside the keys that queries use."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Double, Integer, MetaData, String, Table

from kernelwright.core.trial import Run, Trial
from kernelwright.store.base import latency_us, outcome
from kernelwright.store.document import to_document

metadata = MetaData()

schema = Table(
    "kernelwright_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
)
"""One row: the version that the tables were made by."""

runs = Table(
    "kernelwright_runs",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("problem", String(32), index=True, nullable=False),
    Column("target", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("created", Double, index=True, nullable=False),
    Column("document", JSON, nullable=False),
)

trials = Table(
    "kernelwright_trials",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run", String(64), index=True, nullable=False),
    Column("problem", String(32), index=True, nullable=False),
    Column("kernel", String(32), index=True, nullable=False),
    Column("target", String(16), nullable=False),
    Column("status", String(16), index=True, nullable=False),
    Column("latency_us", Double),
    Column("created", Double, index=True, nullable=False),
    Column("document", JSON, nullable=False),
)


def run_row(run: Run) -> dict[str, Any]:
    """The row of a run."""
    return {
        "id": run.id,
        "problem": run.problem.hash,
        "target": run.target.name,
        "state": run.state,
        "created": run.created,
        "document": to_document(run),
    }


def trial_row(trial: Trial) -> dict[str, Any]:
    """The row of a trial; `latency_us` only where it was accepted."""
    return {
        "id": trial.id,
        "run": trial.run,
        "problem": trial.evaluation.problem,
        "kernel": trial.kernel.hash,
        "target": trial.evaluation.target.name,
        "status": outcome(trial),
        "latency_us": latency_us(trial),
        "created": trial.created,
        "document": to_document(trial),
    }
