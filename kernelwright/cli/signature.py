"""`kernelwright signature`: what a kernel's parameters are called, and a function to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kernelwright.cli import options
from kernelwright.core.problem import Mode

if TYPE_CHECKING:
    from kernelwright.core.problem import Problem
    from kernelwright.languages.stub import StubLanguage


@click.command("signature")
@click.argument("problem")
@options.problem_inputs
@click.option(
    "--language", type=click.Choice(["cpp", "cuda"]), default="cpp", show_default=True,
    help="Language of the function.",
)  # fmt: skip
@click.option("--stub", "only", is_flag=True, help="Print the function only.")
@options.as_json
def command(
    problem: str, inputs: str | None, mode: Mode | None, language: StubLanguage, only: bool, json_: bool
) -> None:
    """Say what the parameters of a kernel for PROBLEM are called, and print a function to begin with.

    PROBLEM is a problem file or an importable module or function. Write the function to a file with
    `--stub`, fill it in, and judge it with `kernelwright verify`.
    """
    from kernelwright.problems import load_problem

    found = _document(load_problem(problem, inputs, mode=mode), language)
    if json_:
        options.print_json(found)
    elif only:
        click.echo(found["stub"], nl=False)
    else:
        _print(found)


def _document(problem: Problem, language: StubLanguage) -> dict[str, Any]:
    from kernelwright.languages.stub import names, stub

    parameters = [
        {
            "kind": name.kind,
            "name": name.name,
            "parameter": name.parameter,
            "dtype": name.dtype,
            "shape": None if name.shape is None else list(name.shape),
            "value": name.value,
        }
        for name in names(problem)
    ]
    return {
        "problem": {"name": problem.name, "hash": problem.hash},
        "parameters": parameters,
        "language": language,
        "stub": stub(problem, language),
    }


def _print(found: dict[str, Any]) -> None:
    """A row for each name, then the function."""
    from rich.table import Table
    from rich.text import Text

    from kernelwright.cli.table import console

    out, table = console(), Table(box=None, pad_edge=False, header_style="bold")
    for name in ("parameter", "is the", "called", "dtype", "shape or value"):
        table.add_column(name, overflow="fold")
    for one in found["parameters"]:
        shape = one["shape"]
        size = one["value"] if shape is None else f"[{', '.join(map(str, shape))}]"
        table.add_row(one["parameter"], one["kind"], Text(one["name"]), one["dtype"], Text(str(size)))
    out.print(table)
    out.print(
        "Of each tensor also: its elements as <parameter>_numel, a size as <parameter>_size<dimension>.\n"
    )
    click.echo(found["stub"], nl=False)
