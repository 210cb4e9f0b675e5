"""`kernelwright audit`: judge a collection of published kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from kernelwright.cli import options
from kernelwright.core.errors import ExitCode


@click.command("audit")
@click.argument("place", type=click.Path(path_type=Path))
@click.option("--problem", metavar="SOURCE", help="What all kernels in the folder claim to compute.")
@options.target
@click.option(
    "--level", type=click.Choice(["quick", "full", "paranoid"]), default="full", show_default=True,
    help="How much is checked.",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Append rows to FILE (JSON lines); candidates that it holds are not judged again.",
)  # fmt: skip
@click.option("--reference-key", metavar="NAME", help="Field of a JSON line that holds the reference.")
@click.option("--kernel-key", metavar="NAME", help="Field of a JSON line that holds the kernel.")
@options.html
@options.as_json
def command(
    place: Path,
    problem: str | None,
    target: str,
    level: str,
    output: Path | None,
    reference_key: str | None,
    kernel_key: str | None,
    html: Path | None,
    json_: bool,
) -> int:
    """Judge the kernels in PLACE: what holds up, and why the rest does not.

    PLACE is a folder (with a reference.py or problem.py beside the kernels, or --problem for all of them, or
    with solutions and their definitions), or a .jsonl file whose lines hold the text of a reference and of a
    kernel. References run with your rights; kernels are confined. Ctrl-C ends with the rows so far.
    """
    from kernelwright.analysis.audit_page import audit_page
    from kernelwright.analysis.page import write_page
    from kernelwright.cli.progress import Progress
    from kernelwright.cli.table import print_audit
    from kernelwright.core.target import Target
    from kernelwright.core.verdict import Level
    from kernelwright.execute.present import require_device
    from kernelwright.suites.audit import audit, summary
    from kernelwright.suites.candidates import candidates

    where = Target.parse(target)
    require_device(where)
    found = candidates(place, problem, (reference_key, kernel_key))
    with Progress() as progress:
        done: list[dict[str, Any]] = []

        def tell(row: dict[str, Any]) -> None:
            done.append(row)
            message = f"of {len(found)}; {row['name']}: {row['verdict']}"
            progress.update({"stage": "audit", "done": len(done), "message": message})

        try:
            audit(found, where, cast(Level, level), ledger=output, on_row=tell)
        except KeyboardInterrupt:
            if not done:
                raise
    document = summary(done)
    if json_:
        options.print_json(document)
    else:
        print_audit(document)
    if html is not None:
        write_page(html, audit_page(document, str(place)))
    if len(done) < len(found):
        click.echo(f"interrupted: {len(found) - len(done)} candidates were not judged", err=True)
        return ExitCode.INTERRUPTED
    return ExitCode.DONE
