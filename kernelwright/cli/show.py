"""`kernelwright show`: one trial from the store."""

from __future__ import annotations

import click

from kernelwright.cli import options
from kernelwright.core.errors import UsageError


@click.command("show")
@click.argument("trial")
@click.option("--source", is_flag=True, help="Print the kernel's sources only.")
@options.as_json
def command(trial: str, source: bool, json_: bool) -> None:
    """Show TRIAL (its id, or a unique beginning of it): kernel, verdict, measurement."""
    from kernelwright.cli.table import print_trial
    from kernelwright.store import open_store

    if trial.startswith("r-"):
        raise UsageError(f"'{trial}' is a run; see it with: kernelwright report {trial}")
    with open_store() as store:
        found = store.trial(trial)
    if json_:
        options.print_json(found.model_dump(mode="json"))
    elif source:
        for file in found.kernel.sources:
            click.echo(file.text)
    else:
        print_trial(found)
