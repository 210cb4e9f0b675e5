"""`kernelwright verify`: judge one kernel. Exit code 0 accepted, 3 rejected."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import options
from kernelwright.core.errors import ExitCode
from kernelwright.core.problem import Mode


@click.command("verify")
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option(
    "--problem", "problem_source", required=True, metavar="SOURCE", help="What it claims to compute."
)
@options.problem_inputs
@options.target
@click.option(
    "--level", type=click.Choice(["quick", "full", "paranoid"]), default="full", show_default=True,
    help="How much is checked.",
)  # fmt: skip
@options.as_json
def command(
    kernel: Path,
    problem_source: str,
    inputs: str | None,
    mode: Mode | None,
    target: str,
    level: str,
    json_: bool,
) -> int:
    """Judge KERNEL (.cpp, .cu, .py or .json): is it right, as precise as what it replaces, how fast is it.

    A .cpp or .cu function's parameters are matched by name with the problem's inputs, weights, outputs
    and axes.
    """
    from kernelwright.cli.progress import Progress
    from kernelwright.cli.table import print_verdict
    from kernelwright.cli.verdict import verify

    with Progress() as progress:
        document = verify(kernel, problem_source, inputs, mode, target, level, progress.update)
    if json_:
        options.print_json(document)
    else:
        print_verdict(document)
    return ExitCode.DONE if document["verdict"] == "accepted" else ExitCode.REJECTED
