"""`kernelwright diagnose`: where the time goes, and the most that is to be won."""

from __future__ import annotations

from typing import Any

import click

from kernelwright.cli import options
from kernelwright.core.errors import UsageError
from kernelwright.core.problem import Mode


@click.command("diagnose")
@click.argument("source")
@options.problem_inputs
@options.target
@click.option(
    "--model",
    "whole",
    is_flag=True,
    help="SOURCE is a whole model, or makes one: say which of its parts cost time.",
)
@click.option("--seconds", default=120.0, show_default=True, help="Time to spend at most.")
@options.as_json
def command(
    source: str, inputs: str | None, mode: Mode | None, target: str, whole: bool, seconds: float, json_: bool
) -> None:
    """Say where the time of SOURCE goes, and what a perfect kernel could gain, before any search."""
    from kernelwright.cli.progress import Progress
    from kernelwright.cli.table import print_diagnosis
    from kernelwright.integrate.diagnosis import diagnose_model
    from kernelwright.integrate.opened import opened
    from kernelwright.optimize import diagnose

    if whole and mode == "train":
        raise UsageError("--mode train is given with --model; kernels have no gradients: leave --mode out")
    with Progress() as progress:
        given: dict[str, Any] = {"target": target, "seconds": seconds, "on_progress": progress.update}
        report = (
            diagnose_model(*opened(source, inputs), **given).report
            if whole
            else diagnose(source, inputs, mode=mode, **given).report
        )
    if json_:
        options.print_json(report)
    else:
        print_diagnosis(report)
