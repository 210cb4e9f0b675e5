"""`kernelwright optimize`: baselines, search, proof, and a table of what was found."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import options
from kernelwright.core.errors import ExitCode
from kernelwright.core.problem import Mode


@click.command("optimize")
@click.argument("source")
@options.problem_inputs
@options.target
@click.option("--budget", default=60.0, show_default=True, metavar="SECONDS", help="Search time.")
@click.option("--strategy", default="evolution", show_default=True, help="random, local or evolution.")
@click.option("--seed", type=int, help="Seed of the search (not of the judge: its seeds are secret).")
@click.option(
    "--frozen-weights", is_flag=True, help="Weights never change: `prepare` is not charged to calls."
)
@click.option("--strict", is_flag=True, help="TF32 off on both sides (torch convolves in it on a GPU).")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write the kernel found to DIR."
)
@options.as_json
def command(
    source: str,
    inputs: str | None,
    mode: Mode | None,
    target: str,
    budget: float,
    strategy: str,
    seed: int | None,
    frozen_weights: bool,
    strict: bool,
    output: Path | None,
    json_: bool,
) -> int:
    """Find a faster kernel for SOURCE and prove it.

    SOURCE is a problem file (KernelBench form: Model, get_inputs, get_init_inputs) or an importable
    module or function such as mypkg.model:Block. Ctrl-C ends with the best found so far.
    """
    from kernelwright.cli.progress import Progress
    from kernelwright.cli.table import print_report
    from kernelwright.languages.publish import check_place, write_kernel
    from kernelwright.optimize import optimize

    if output is not None:
        check_place(output)
    with Progress() as progress:
        result = optimize(
            source,
            inputs,
            mode=mode,
            target=target,
            budget_s=budget,
            strategy=strategy,
            seed=seed,
            frozen_weights=frozen_weights,
            strict=strict,
            on_progress=progress.update,
        )
    if json_:
        options.print_json(result.report)
    else:
        print_report(result.report)
    if output is not None:
        written = result.kernel and write_kernel(result.kernel, output)
        said = f"kernel written to {written}" if written else f"no kernel, so nothing is written to {output}"
        click.echo(said, err=True)
    return ExitCode.INTERRUPTED if result.report.get("interrupted") else ExitCode.DONE
