"""`kernelwright verify`: judge one kernel. Exit code 0 accepted, 3 rejected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from kernelwright.cli import options
from kernelwright.core.errors import ExitCode, StoreError
from kernelwright.core.problem import Mode
from kernelwright.core.verdict import Level

if TYPE_CHECKING:
    from kernelwright.cli.progress import Progress
    from kernelwright.store.base import TrialStore
    from kernelwright.suites.judgement import Judgement


@click.command("verify")
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option(
    "--problem", "problem_source", required=True, metavar="SOURCE",
    help="What it claims to compute: a problem file, module:attribute, or a definition (.json).",
)  # fmt: skip
@options.problem_inputs
@options.target
@click.option(
    "--level", type=click.Choice(["quick", "full", "paranoid"]), default="full", show_default=True,
    help="How much is checked.",
)  # fmt: skip
@click.option(
    "--workload", type=click.Path(path_type=Path), metavar="FILE",
    help="Workloads of a definition (JSON lines). Default: where its project keeps them.",
)  # fmt: skip
@click.option(
    "--uuid", "uuids", multiple=True, metavar="UUID",
    help="Judge only workloads whose uuid begins so; may be given again.",
)  # fmt: skip
@click.option(
    "--trace", type=click.Path(path_type=Path, dir_okay=False, writable=True), metavar="FILE",
    help="Append a trace for each workload to FILE (JSON lines).",
)  # fmt: skip
@options.html
@options.as_json
def command(
    kernel: Path,
    problem_source: str,
    inputs: str | None,
    mode: Mode | None,
    target: str,
    level: str,
    workload: Path | None,
    uuids: tuple[str, ...],
    trace: Path | None,
    html: Path | None,
    json_: bool,
) -> int:
    """Judge KERNEL (.cpp, .cu, .py or .json): is it right, as precise as what it replaces, how fast is it.

    A .cpp or .cu function's parameters are matched by name with the problem's inputs, weights, outputs
    and axes. A .py file defines `ModelNew`, or a function `kernel` that takes the inputs and then the
    weights. A .json file is a kernel that was published, or a solution of flashinfer-bench or SOL-ExecBench:
    then SOURCE is its definition, and it is judged at each workload.
    """
    from kernelwright.analysis.page import write_page
    from kernelwright.analysis.verdict_page import Judged, verdict_page
    from kernelwright.cli.progress import Progress
    from kernelwright.cli.table import print_verdict
    from kernelwright.cli.verdict import summary
    from kernelwright.cli.workloads import print_workloads
    from kernelwright.core.target import Target
    from kernelwright.measure.environment import environment
    from kernelwright.suites.exchange.trace import append_traces
    from kernelwright.suites.judgement import judge

    with Progress() as progress:
        store = _store(progress)
        judgements = judge(
            kernel, problem_source, Target.parse(target), cast(Level, level),
            inputs=inputs, mode=mode, workload=workload, uuids=uuids, tell=progress.update,
        )  # fmt: skip
        judgements = _kept(store, judgements, progress)
    document = summary(judgements)
    if json_:
        options.print_json(document)
    else:
        print_verdict(document)
        if len(judgements) > 1:
            print_workloads(document["workloads"])
    if trace is not None:
        append_traces(trace, [one.trace for one in judgements if one.trace is not None])
    if html is not None:
        here = environment(Target.parse(target))
        judged = [
            Judged(one.problem, one.kernel, one.evaluation, one.workload, one.not_checked, here)
            for one in judgements
        ]
        write_page(html, verdict_page(judged))
    return ExitCode.DONE if document["verdict"] == "accepted" else ExitCode.REJECTED


def _kept(store: TrialStore | None, judgements: list[Judgement], progress: Progress) -> list[Judgement]:
    """The judgements with their trials in the store; without, where they cannot be kept."""
    from kernelwright.suites.kept import keep

    if store is None:
        return judgements
    try:
        with store:
            return keep(store, judgements)
    except StoreError as error:
        _not_kept(progress, error)
        return judgements


def _store(progress: Progress) -> TrialStore | None:
    """The store, opened before the work; none where it cannot be. UsageError for an address that is none."""
    from kernelwright.store import open_store

    try:
        return open_store()
    except StoreError as error:
        _not_kept(progress, error)
        return None


def _not_kept(progress: Progress, error: StoreError) -> None:
    progress.update({"stage": "store", "message": f"the verdict will not be kept: {error}"})
