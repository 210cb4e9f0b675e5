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

from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.measurement import METHOD_VERSION
from kernelwright.core.problem import CONTRACT_VERSION, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level
from kernelwright.core.wire import content_hash
from kernelwright.evaluate import evaluate
from kernelwright.problems import load_problem
from kernelwright.store.ledger import Ledger
from kernelwright.suites.candidate import Candidate
from kernelwright.suites.judgement import kernel_for, workload_problem

Row = dict[str, Any]
_ALWAYS = frozenset({"key", "name", "verdict", "reason", "problem", "kernel"})


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
    """What `audit --json` prints: level, counts, rejections by kind, rows."""
    rows = list(rows)
    verdicts = Counter(row["verdict"] for row in rows)
    kinds = Counter(row["reason"]["kind"] for row in rows if row["verdict"] == "rejected")
    return {
        "level": rows[0]["level"] if rows else None,
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
            return _without_judgement(candidate, level, candidate.fault)
        problem = _problem(candidate, problems)
        if isinstance(problem, str):
            return _without_judgement(candidate, level, problem)
        kernel = kernel_for(candidate.kernel, candidate.reference, problem, target)
        key = content_hash([problem.hash, kernel.hash, target.name, level, CONTRACT_VERSION, METHOD_VERSION])
        if key in known:
            return {**known[key], "name": candidate.name, "level": level}
        evaluation = evaluate(problem, kernel, target, level)
        return {"key": key, "level": level, **_judged(candidate, problem, kernel, evaluation)}
    except KernelwrightError as error:
        return _without_judgement(candidate, level, str(error), rejected=_is_syntax(error))


def _is_syntax(error: BaseException | None) -> bool:
    """Whether Python's parser is behind an error: that is the kernel's fault, as a compiler's refusal is."""
    return isinstance(error, SyntaxError) or (error is not None and _is_syntax(error.__cause__))


def _problem(candidate: Candidate, problems: dict[str, Problem | str]) -> Problem | str:
    """The problem, loaded once; or why it cannot be."""
    reference = f"{candidate.reference}#{candidate.workload}"
    if reference not in problems:
        try:
            problems[reference] = (
                workload_problem(candidate.reference, candidate.workload)
                if candidate.workload
                else load_problem(candidate.reference)
            )
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
        "status_reason": measurement and measurement.status_reason,
        "speedup": strongest and strongest.ratio,
        "speedup_ci": strongest and list(strongest.ci),
        "over": strongest and strongest.baseline,
        "not_checked": list(verdict.not_checked) if verdict else [],
    }


def _without_judgement(candidate: Candidate, level: Level, why: str, *, rejected: bool = False) -> Row:
    """A row without an evaluation: unjudged, or rejected as what does not build is."""
    row: Row = {"name": candidate.name, "level": level}
    if rejected:
        return {**row, "verdict": "rejected", "reason": {"gate": "build", "kind": "build", "message": why}}
    return {**row, "verdict": "unjudged", "reason": {"message": why}}


def _known(ledger: Ledger | None) -> dict[str, Row]:
    """Rows of a ledger by key; UsageError for a file that holds something else."""
    found = {}
    for start, line in ledger.new_lines(0) if ledger is not None else ():
        try:
            row = json.loads(line or b"{}")
        except (ValueError, RecursionError):
            row = None
        if row != {} and not (isinstance(row, dict) and row.keys() >= _ALWAYS):
            where = ledger.path if ledger is not None else ""
            raise UsageError(
                f"{where} is no ledger of an audit (see byte {start}); give --output another file"
            )
        if row:
            found[row["key"]] = row
    return found
