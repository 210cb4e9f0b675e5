"""`kernelwright diagnose`: where the time goes, and the most that is to be won."""

from __future__ import annotations

import click

from kernelwright.cli import options
from kernelwright.core.problem import Mode


@click.command("diagnose")
@click.argument("source")
@options.problem_inputs
@options.target
@click.option("--seconds", default=120.0, show_default=True, help="Time to spend at most.")
@options.as_json
def command(
    source: str, inputs: str | None, mode: Mode | None, target: str, seconds: float, json_: bool
) -> None:
    """Say where the time of SOURCE goes, and what a perfect kernel could gain, before any search."""
    from kernelwright.cli.progress import Progress
    from kernelwright.cli.table import print_diagnosis
    from kernelwright.optimize import diagnose

    with Progress() as progress:
        diagnosis = diagnose(
            source, inputs, mode=mode, target=target, seconds=seconds, on_progress=progress.update
        )
    if json_:
        options.print_json(diagnosis.report)
    else:
        print_diagnosis(diagnosis.report)
