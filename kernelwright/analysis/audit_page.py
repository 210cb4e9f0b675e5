"""`audit_page`: one page on a collection of kernels: totals, then a row for each, to be filtered by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.analysis.page import render


def audit_page(summary: Mapping[str, Any], place: str) -> str:
    """The page of what `audit --json` prints; `place` is where the kernels came from."""
    rows = [_row(row) for row in summary["rows"]]
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row["group"]] = kinds.get(row["group"], 0) + 1
    total = max(summary["candidates"], 1)
    counts = {
        "accepted": summary["accepted"],
        "rejected": sum(summary["rejected"].values()),
        "unjudged": summary["unjudged"],
    }
    return render(
        "audit.html",
        title=f"Audit of {place}",
        level=summary["level"],
        place=place,
        candidates=summary["candidates"],
        counts=counts,
        shares={name: round(100 * count / total, 2) for name, count in counts.items()},
        kinds=sorted(kinds.items(), key=lambda item: (item[0] != "accepted", item[0] == "unjudged", item[0])),
        rows=rows,
    )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    reason = row.get("reason") or {}
    verdict = row["verdict"]
    kind = reason.get("kind") or ""
    return {
        "name": row["name"],
        "verdict": verdict,
        "kind": kind,
        "group": kind if verdict == "rejected" and kind else verdict,
        "gate": reason.get("gate") or "",
        "message": reason.get("message") or "",
        "problem": row.get("problem") or "",
        "kernel": row.get("kernel") or "",
        "speedup": row.get("speedup"),
        "speedup_ci": row.get("speedup_ci"),
        "over": row.get("over") or "",
        "status": row.get("status") or "",
        "status_reason": row.get("status_reason") or "",
        "not_checked": row.get("not_checked") or [],
    }
