"""`kernelwright doctor`: what this machine has."""

from __future__ import annotations

import click

from kernelwright.cli import options


@click.command("doctor")
@options.as_json
def command(json_: bool) -> None:
    """Say what this machine has: targets, languages, sandbox layers, store, cache, and what is missing."""
    from kernelwright.cli.machine import machine_document
    from kernelwright.cli.table import print_doctor

    document = machine_document()
    if json_:
        options.print_json(document)
    else:
        print_doctor(document)
