"""`Trace`: what an evaluation found, as flashinfer-bench and SOL-ExecBench write it.

Their record holds less than ours: one status, one latency, one reference. So the whole `Evaluation` stands
beside their fields, under `kernelwright`, and can be read back. Their largest element-wise errors are left
out, because we do not measure them; ours, which are norm-wise, are named under `correctness.extra`.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Reason, Verdict
from kernelwright.suites.exchange.definition import Text
from kernelwright.suites.exchange.document import Document, Part
from kernelwright.suites.exchange.workload import Workload

OWN = "kernelwright"
"""Key of our evaluation beside their fields."""
STATUSES = {
    "answer": "INCORRECT_NUMERICAL", "precision": "INCORRECT_NUMERICAL", "work": "INCORRECT_NUMERICAL",
    "safety": "RUNTIME_ERROR", "contract": "RUNTIME_ERROR", "build": "COMPILE_ERROR",
    "time": "REWARD_HACK", "judge": "REWARD_HACK", "floor": "REWARD_HACK",
}  # fmt: skip
"""Their status by the kind of our reason; flashinfer-bench has no REWARD_HACK and gets RUNTIME_ERROR."""
_TOO_LONG = "did not finish"
_FORMS = re.compile(r"is (\[.*?\]) of torch\.(\w+); the problem's is (\[.*?\]) of torch\.(\w+)")
_FIGURES = ("relative_error", "eager_relative_error", "share_of_limit", "where", "actual", "expected")


class Found(Part):
    """Their part of an evaluation that we read."""

    status: Text


class Trace(Document):
    """A definition at a workload, and what a solution's evaluation found there."""

    definition: Text
    workload: dict[str, Any]
    solution: str | None = None
    evaluation: Found | None = None

    def point(self, where: str) -> Workload:
        """The workload; UsageError, one line, if it is none."""
        return Workload.of(self.content["workload"], where)

    def judged(self) -> Evaluation | None:
        """Our evaluation, where the trace was made here."""
        found = (self.content.get("evaluation") or {}).get(OWN)
        return None if found is None else Evaluation.model_validate_json(json.dumps(found))


def evaluation_trace(
    definition: str, workload: Workload, solution: str, evaluation: Evaluation, *, can_say_hack: bool = True
) -> Trace:
    """What was found as a trace. `can_say_hack`: whether the reader knows the status REWARD_HACK."""
    status = _status(evaluation, can_say_hack)
    record: dict[str, Any] = {
        "status": status,
        "environment": _environment(evaluation),
        "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "log": _log(evaluation),
        "correctness": None,
        "performance": None,
        OWN: json.loads(evaluation.model_dump_json()),
    }
    if status in ("PASSED", "INCORRECT_NUMERICAL"):
        record["correctness"] = {"extra": _figures(evaluation.verdict)}
    if status == "PASSED":
        record["performance"] = _performance(evaluation)
    content = {
        "definition": definition,
        "workload": workload.content,
        "solution": solution,
        "evaluation": record,
    }
    return Trace.of(content, f"trace of {solution}")


def append_traces(file: Path, traces: list[Trace]) -> None:
    """Add traces to a file, one a line; UsageError if it is no place for them."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.writelines(trace.text() + "\n" for trace in traces)
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise UsageError(f"cannot write traces to '{file}': {error.strerror}; give a file's path") from error
    except OSError as error:
        raise EnvironmentFault(f"cannot write traces to '{file}': {error.strerror}; free space") from error


def _status(evaluation: Evaluation, can_say_hack: bool) -> str:
    verdict = evaluation.verdict
    if verdict is None:
        return "COMPILE_ERROR"
    if verdict.reason is None:
        return "PASSED"
    status = _closer_status(verdict.reason) or STATUSES[verdict.reason.kind]
    return "RUNTIME_ERROR" if status == "REWARD_HACK" and not can_say_hack else status


def _closer_status(reason: Reason) -> str | None:
    """Their statuses for an output of another form, and for a kernel that took too long."""
    if _TOO_LONG in reason.message:
        return "TIMEOUT"
    found = _FORMS.search(reason.message) if reason.kind == "contract" else None
    if found is None:
        return None
    return "INCORRECT_SHAPE" if found[1] != found[3] else "INCORRECT_DTYPE"


def _log(evaluation: Evaluation) -> str:
    reason = evaluation.verdict.reason if evaluation.verdict else None
    said = f"{reason.gate} ({reason.kind}): {reason.message}" if reason else ""
    return "\n".join(part for part in (said, evaluation.build.log) if part)


def _figures(verdict: Verdict | None) -> dict[str, Any]:
    """Norm-wise errors on the workload's own inputs, or those of the draw that failed."""
    gate = next((gate for gate in verdict.gates if gate.name == "numeric"), None) if verdict else None
    if gate is None:
        return {}
    draws = gate.evidence.get("draws", {})
    figures = {**gate.evidence, **(draws.get("file-0", {}) if isinstance(draws, dict) else {})}
    return {name: figures[name] for name in _FIGURES if name in figures}


def _environment(evaluation: Evaluation) -> dict[str, Any]:
    found = evaluation.measurement.environment if evaluation.measurement else {}
    gpu = found.get("gpu") or {}
    hardware = gpu.get("name") or found.get("cpu") or str(evaluation.target)
    libs = {name: str(version) for name, version in (found.get("versions") or {}).items() if version}
    return {"hardware": str(hardware), "libs": libs}


def _performance(evaluation: Evaluation) -> dict[str, float] | None:
    """Milliseconds of the kernel and of eager, and the ratio of their paired times."""
    measurement = evaluation.measurement
    if measurement is None:
        return None
    found = {"latency_ms": measurement.kernel.latency_us / 1000}
    eager = next((timing for timing in measurement.baselines if timing.name == "eager"), None)
    ratio = next((each.ratio for each in measurement.speedups if each.baseline == "eager"), None)
    if eager is not None and ratio is not None:
        found |= {"reference_latency_ms": eager.latency_us / 1000, "speedup_factor": ratio}
    return found
