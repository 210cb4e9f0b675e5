"""`kernelwright trials export | import`: move trials between a database and JSON lines."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import options


@click.group("trials")
def command() -> None:
    """Export trials to JSON lines, or import them."""


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def export(file: Path, json_: bool) -> None:
    """Append the store's runs and trials to FILE (JSON lines); what is there already is left alone."""
    from kernelwright.store import open_store
    from kernelwright.store.jsonl import JsonLinesStore
    from kernelwright.store.transfer import transfer

    with open_store() as store, JsonLinesStore.open(file) as ledger:
        _say(transfer(store, ledger), json_)


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@options.as_json
def import_(file: Path, json_: bool) -> None:
    """Add the runs and trials of FILE (JSON lines) to the store; what is there already is left alone."""
    from kernelwright.store import open_store
    from kernelwright.store.jsonl import JsonLinesStore
    from kernelwright.store.transfer import transfer

    with JsonLinesStore.open(file) as ledger, open_store() as store:
        _say(transfer(ledger, store), json_)


def _say(counts: dict[str, int], json_: bool) -> None:
    if json_:
        options.print_json(counts)
    else:
        click.echo(f"{counts['runs']} runs and {counts['trials']} trials added")
