"""The terminal's table of a definition's workloads, a row each."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from kernelwright.cli.table import STATUS_STYLE, console


def print_workloads(rows: list[dict[str, Any]]) -> None:
    """Verdict, speed-up over the strongest baseline, and status or reason, for each workload."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("workload", "verdict", "over the strongest", "status or reason"):
        table.add_column(name, overflow="fold")
    for row in rows:
        ratio = (row.get("speedup") or {}).get("strongest")
        said = row["reason"]["message"] if row["reason"] else row.get("status") or ""
        table.add_row(
            Text(row["workload"]),
            Text(row["verdict"], style=STATUS_STYLE.get(row["verdict"], "")),
            "-" if ratio is None else f"{ratio:.2f}x",
            Text(said),
        )
    console().print(table)
