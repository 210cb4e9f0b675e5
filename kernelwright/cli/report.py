"""`kernelwright report`: runs and their best kernels."""

from __future__ import annotations

import click

from kernelwright.cli import options
from kernelwright.core.errors import UsageError


@click.command("report")
@click.argument("run", required=False)
@click.option("--problem", metavar="NAME", help="Only runs of this problem (name, or beginning of its hash).")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="At most so many runs, newest first.",
)
@options.as_json
def command(run: str | None, problem: str | None, limit: int, json_: bool) -> None:
    """List runs, newest first; with RUN, show that run's table and its trials."""
    from kernelwright.cli.runs import run_document, run_list
    from kernelwright.cli.table import print_run, print_runs
    from kernelwright.store import open_store

    if run is not None and run.startswith("t-"):
        raise UsageError(f"'{run}' is a trial; see it with: kernelwright show {run}")
    with open_store() as store:
        document = run_document(store, run) if run else run_list(store, problem, limit)
    if json_:
        options.print_json(document)
    elif run:
        print_run(document)
    else:
        print_runs(document)
