"""`kernelwright ask-verdict`: ask a verdict service for one verdict. Exit code 0 accepted, 3 rejected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from kernelwright.cli import options
from kernelwright.core.errors import EnvironmentFault, ExitCode
from kernelwright.core.verdict import Level

if TYPE_CHECKING:
    from kernelwright.service.answer import Answer, RedactedAnswer


@click.command("ask-verdict")
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option(
    "--problem",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="What it claims to compute.",
)
@click.option(
    "--include", "includes", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="A file that the kernel includes; may be repeated.",
)  # fmt: skip
@click.option(
    "--service", default="http://127.0.0.1:8421", show_default=True, metavar="URL", help="Where it is served."
)
@click.option(
    "--level", type=click.Choice(["quick", "full", "paranoid"]), default="quick", show_default=True,
    help="How much is checked.",
)  # fmt: skip
@click.option(
    "--priority", type=click.IntRange(-9, 9), default=0, show_default=True, help="Higher ones come first."
)
@click.option(
    "--wait", "wait_s", type=click.FloatRange(min=0), default=600.0, show_default=True, metavar="SECONDS",
    help="Longest wait for a place in the queue, and then for the verdict.",
)  # fmt: skip
@options.as_json
def command(
    kernel: Path,
    problem: Path,
    includes: tuple[Path, ...],
    service: str,
    level: str,
    priority: int,
    wait_s: float,
    json_: bool,
) -> int:
    """Ask a service that `serve-verdicts` runs for a verdict on KERNEL (.cpp, .cu, .py or .json).

    The same request is judged once: asking again continues to wait, or gives what is known. The token is
    taken from KERNELWRIGHT_SERVICE_TOKEN.
    """
    from kernelwright.core.kernel import Source
    from kernelwright.service.client import Client
    from kernelwright.service.text_file import text_of

    sources = [Source(path=path.name, text=text_of(path)) for path in (kernel, *includes)]
    client = Client(service)
    ticket = client.submit(
        text_of(problem), sources, level=cast(Level, level), priority=priority, wait_s=wait_s
    ).ticket
    answer = client.result(ticket or "", wait_s=wait_s)
    if answer.state != "done":
        after = answer.message or "ask again with the same files to go on waiting"
        raise EnvironmentFault(f"no verdict on {kernel.name}: its ticket {ticket} is {answer.state}; {after}")
    return _shown(answer, json_)


def _shown(answer: Answer | RedactedAnswer, json_: bool) -> int:
    """Print an answer that has a verdict; the exit code."""
    from kernelwright.cli.table import print_verdict
    from kernelwright.cli.verdict import document
    from kernelwright.service.answer import Answer

    whole = document(answer.evaluation) if isinstance(answer, Answer) and answer.evaluation else None
    found: dict[str, Any] = whole or answer.model_dump(mode="json")
    if json_:
        options.print_json({"ticket": answer.ticket, **found})
    elif whole is not None:
        print_verdict(whole)
    else:
        click.echo(f"{found['verdict']}  kind {found['kind'] or '-'}  reward {found['reward']}")
        click.echo(found["compiler"], nl=False)
    return ExitCode.DONE if found["verdict"] == "accepted" else ExitCode.REJECTED
