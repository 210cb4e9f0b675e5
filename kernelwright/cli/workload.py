"""`kernelwright workload list | bench`: the packs, and how fast each is beside the libraries of its field."""

from __future__ import annotations

from typing import Any

import click

from kernelwright.cli import options


@click.group("workload")
def command() -> None:
    """Libraries for one field each, whose kernels are proven: list them, or measure one."""


@command.command("list")
@options.as_json
def list_(json_: bool) -> None:
    """List the packs: what each does, how it is imported, and why one cannot be used here."""
    from kernelwright.workloads.packs import PACKS, describe

    rows = [describe(PACKS.get(name)) for name in PACKS.names()]
    if json_:
        options.print_json({"packs": rows})
    else:
        _print_list(rows)


@command.command("bench")
@click.argument("name")
@options.as_json
def bench(name: str, json_: bool) -> None:
    """Measure the pack NAME beside the libraries of its field, as far as they are installed.

    Takes minutes. Nothing is kept; `python -m benchmarks.<name>` of a checkout writes the ledger.
    """
    from kernelwright.core.errors import EnvironmentFault
    from kernelwright.workloads.packs import PACKS

    pack = PACKS.get(name)
    reason = pack.unavailable()
    if reason:
        raise EnvironmentFault(f"pack '{name}' cannot be used: {reason}")
    records = []
    for record in pack.bench():
        click.echo(_line(record), err=json_)
        records.append(record)
    if json_:
        options.print_json({"pack": name, "absent_peers": pack.absent_peers(), "records": records})
    else:
        for peer, why in pack.absent_peers().items():
            click.echo(f"{peer}: {why}")


def _print_list(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from kernelwright.cli.table import console

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("pack", "what it does", "import", "here"):
        table.add_column(title, overflow="fold")
    for row in rows:
        here = "available" if row["available"] else f"not available: {row['reason']}"
        table.add_row(*(Text(text) for text in (row["name"], row["summary"], row["import"], here)))
    console().print(table)


def _line(record: dict[str, Any]) -> str:
    """A record in one line: what it is of, and its numbers."""
    return "  ".join(f"{key} {_shown(value)}" for key, value in record.items() if value is not None)


def _shown(value: Any) -> str:
    match value:
        case float():
            return f"{value:.4g}"
        case dict():
            return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
        case list() | tuple():
            return " to ".join(_shown(item) for item in value)
    return str(value)
