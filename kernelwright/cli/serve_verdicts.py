"""`kernelwright serve-verdicts`: judge kernels for many clients, over HTTP, until interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from kernelwright.cli import options


@click.command("serve-verdicts")
@options.target
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8421, show_default=True, help="Port; 0: any free one."
)
@click.option(
    "--problem", "problems", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Judge only this problem; may be repeated. Without it: whatever clients send.",
)  # fmt: skip
@click.option("--redacted", is_flag=True, help="Answer as a trainer may know it; see the documentation.")
@click.option(
    "--level", type=click.Choice(["quick", "full", "paranoid"]), default="quick", show_default=True,
    help="With --redacted: the only level that is told.",
)  # fmt: skip
@click.option(
    "--held-out-share", type=click.FloatRange(0, 1), default=0.1, show_default=True,
    help="With --redacted: share of accepted kernels that are judged again, one level up, untold.",
)  # fmt: skip
@click.option(
    "--capacity", type=click.IntRange(min=1), default=1000, show_default=True, help="Requests that may wait."
)
@click.option("--store", metavar="URL", help="Store of verdicts. Default: the store of trials.")
@click.option("--journal", type=click.Path(path_type=Path), metavar="FILE", help="File that keeps the queue.")
@click.option(
    "--ray", "address", metavar="ADDRESS", help="Ray cluster to join. Default: one on this host alone."
)
def command(
    host: str, port: int, problems: tuple[Path, ...], journal: Path | None, address: str | None, **given: Any
) -> None:
    """Judge kernels for many clients: a lane for each GPU, or one for the CPU, and compilers beside it.

    Requests are kept on disk, judged once, and answered from the store afterwards. Where others can reach
    the address, KERNELWRIGHT_SERVICE_TOKEN must be set, and clients send it. Clients' problems run with your
    rights; kernels are confined.
    """
    from kernelwright.execute.present import require_device
    from kernelwright.service.client import TOKEN_VARIABLE
    from kernelwright.service.serve import check_address, serve
    from kernelwright.service.service import VerdictService
    from kernelwright.service.settings import Settings
    from kernelwright.service.text_file import text_of

    token = os.environ.get(TOKEN_VARIABLE) or None
    check_address(host, token)
    texts = tuple(text_of(path) for path in problems)
    settings = Settings(problems=texts, journal=str(journal) if journal else None, **given).checked()
    if address is None:
        require_device(settings.where)
    with VerdictService.start(settings, address) as service:
        serve(service, host, port, token, lambda url: click.echo(f"serving verdicts at {url}", err=True))
