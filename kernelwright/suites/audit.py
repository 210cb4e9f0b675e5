"""`audit`: judge a collection of published kernels. What holds up, and why the rest does not.

    rows = audit(candidates("kernels/"), target, "full", on_row=print)

Each candidate has workers and draws of its own. A reference or a kernel file that cannot be read, and a
fault of the machine, is a row with its reason, and the audit goes on. With a ledger, candidates that it holds
under the same hashes, level, contract and method are not judged again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kernelwright.core.errors import KernelwrightError
from kernelwright.core.kernel import Kernel
from kernelwright.core.measurement import METHOD_VERSION
from kernelwright.core.problem import CONTRACT_VERSION, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level
from kernelwright.core.wire import content_hash
from kernelwright.evaluate import evaluate
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.store.ledger import Ledger
from kernelwright.suites.candidates import Candidate

Row = dict[str, Any]


def audit(
    found: Iterable[Candidate],
    target: Target,
    level: Level = "full",
    *,
    ledger: Path | None = None,
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """A row for each candidate, in order; `on_row` hears of each as it is done."""
    kept = Ledger(ledger) if ledger is not None else None
    known = _known(kept)
    problems: dict[str, Problem | str] = {}
    rows = []
    for candidate in found:
        row = _row(candidate, target, level, known, problems)
        if kept is not None and row.get("key") not in (None, *known):
            kept.append(json.dumps(row).encode(), unless=lambda: False)
        rows.append(row)
        on_row(row)
    return rows


def summary(rows: Iterable[Row]) -> dict[str, Any]:
    """What `audit --json` prints: counts, rejections by kind, rows."""
    rows = list(rows)
    verdicts = Counter(row["verdict"] for row in rows)
    kinds = Counter(row["reason"]["kind"] for row in rows if row["verdict"] == "rejected")
    return {
        "candidates": len(rows),
        "accepted": verdicts["accepted"],
        "rejected": dict(sorted(kinds.items())),
        "unjudged": verdicts["unjudged"],
        "rows": rows,
    }


def _row(
    candidate: Candidate,
    target: Target,
    level: Level,
    known: dict[str, Row],
    problems: dict[str, Problem | str],
) -> Row:
    try:
        if candidate.fault:
            return _unjudged(candidate, candidate.fault)
        problem = _problem(candidate.reference, problems)
        if isinstance(problem, str):
            return _unjudged(candidate, problem)
        kernel = read_kernel(candidate.kernel, problem, target)
        key = content_hash([problem.hash, kernel.hash, target.name, level, CONTRACT_VERSION, METHOD_VERSION])
        if key in known:
            return {**known[key], "name": candidate.name}
        return {"key": key, **_judged(candidate, problem, kernel, evaluate(problem, kernel, target, level))}
    except KernelwrightError as error:
        return _unjudged(candidate, str(error))


def _problem(reference: str, problems: dict[str, Problem | str]) -> Problem | str:
    """The problem, loaded once; or why it cannot be."""
    if reference not in problems:
        try:
            problems[reference] = load_problem(reference)
        except KernelwrightError as error:
            problems[reference] = f"reference: {error}"
    return problems[reference]


def _judged(candidate: Candidate, problem: Problem, kernel: Kernel, evaluation: Evaluation) -> Row:
    verdict, measurement = evaluation.verdict, evaluation.measurement
    build = {
        "gate": "build",
        "kind": "build",
        "message": (evaluation.build.log.strip() or "it did not build").splitlines()[0],
    }
    reason = build if verdict is None else verdict.reason and verdict.reason.model_dump(mode="json")
    strongest = measurement.strongest if measurement else None
    return {
        "name": candidate.name,
        "problem": problem.name,
        "kernel": kernel.hash,
        "trust": kernel.trust,
        "verdict": "rejected" if verdict is None else verdict.verdict,
        "reason": reason,
        "status": measurement and measurement.status,
        "speedup": strongest and strongest.ratio,
        "speedup_ci": strongest and list(strongest.ci),
        "over": strongest and strongest.baseline,
        "not_checked": list(verdict.not_checked) if verdict else [],
    }


def _unjudged(candidate: Candidate, why: str) -> Row:
    return {"name": candidate.name, "verdict": "unjudged", "reason": {"message": why}}


def _known(ledger: Ledger | None) -> dict[str, Row]:
    """Rows of a ledger by key."""
    lines = ledger.new_lines(0) if ledger is not None else ()
    rows = [json.loads(line) for _, line in lines]
    return {row["key"]: row for row in rows if isinstance(row, dict) and "key" in row}
