"""The part of gate `sanitize` for device code: the four tools of compute-sanitizer (`paranoid`).

A process of ours runs the kernel at small sizes under each tool, with every tensor in an allocation of its
own (torch's allocator would lay them side by side, where one element too many is still valid memory):

| tool | finds |
|---|---|
| memcheck | accesses out of bounds, or misaligned |
| racecheck | threads of a block that meet in shared memory without a barrier |
| initcheck | reads of memory that nobody wrote |
| synccheck | barriers that not all threads reach |

A kernel known to be right goes first under each tool: where that does not run, the tool is unavailable, and
the verdict says so. Not covered: races between blocks, open kernels.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem, Workload
from kernelwright.core.target import Target
from kernelwright.execute.known_good import known_good
from kernelwright.execute.native import PATH_VARIABLE, compiled
from kernelwright.execute.worker_environment import bytecode_environment
from kernelwright.verify.base import Rejected

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PATIENCE_S = 300.0
"""Longest run of one tool."""
_PLACES = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer")
_APART = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
_SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+)", re.MULTILINE)
_HEADING = re.compile(
    r"^=+ ((?:Invalid|Misaligned|Uninitialized|Error|Race|Barrier|Potential)\b.*)", re.MULTILINE
)
_AT = re.compile(r"^=+ {2,}at (.+)", re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """What one tool said: whether it ran to its end, how many errors it found, and the first in one line."""

    ran: bool
    errors: int = 0
    first: str = ""


def sanitizer() -> str | None:
    """The program, if this machine has it."""
    found = shutil.which("compute-sanitizer")
    return found or shutil.which("compute-sanitizer", path=os.pathsep.join(_PLACES))


def tools_that_run(target: Target) -> dict[str, str]:
    """For each tool nothing, or why it cannot be used here: tried out once on a kernel known to be right."""
    return {tool: _lacking(tool, target) for tool in TOOLS}


@lru_cache(maxsize=len(TOOLS))
def _lacking(tool: str, target: Target) -> str:
    program = sanitizer()
    if program is None:
        return "compute-sanitizer is not installed; it comes with CUDA's toolkit"
    problem, kernel, build = known_good(target)
    found, said = _run(program, tool, problem, kernel, build, [problem.base])
    if not found.ran:
        return f"it does not run here: {said}"
    return f"it finds fault with a kernel known to be right: {found.first}" if found.errors else ""


def look(
    tools: list[str], problem: Problem, kernel: Kernel, build: Build, points: list[Workload]
) -> list[str]:
    """Run a kernel at these sizes under each tool; the tools that did not come to an end. Rejected at the
    first error."""
    program, unfinished = sanitizer(), []
    for tool in tools if program else []:
        found, said = _run(str(program), tool, problem, kernel, build, points)
        if found.errors:
            raise Rejected("safety", f"{tool}: {found.first}", {"tool": tool, "errors": found.errors})
        if not found.ran:
            unfinished.append(f"{tool} did not finish: {said}")
    return unfinished


def read_report(text: str) -> Report:
    """What a tool wrote into its log."""
    summary = _SUMMARY.search(text)
    heading, at = _HEADING.search(text), _AT.search(text)
    count = int(summary[1]) if summary else (1 if heading else 0)
    parts = [match[1].strip() for match in (heading, at) if match]
    return Report(summary is not None, count, " at ".join(parts) or "errors without a description")


def _run(
    program: str, tool: str, problem: Problem, kernel: Kernel, build: Build, points: list[Workload]
) -> tuple[Report, str]:
    """The report of one tool, and where it did not come to an end the last line of what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        job, log = Path(folder) / "job.json", Path(folder) / "log"
        job.write_text(json.dumps(_job(problem, kernel, build, points)))
        command = [
            program, "--tool", tool, "--log-file", str(log), "--report-api-errors", "no",
            sys.executable, "-m", "kernelwright.verify.sanitizer_run", str(job),
        ]  # fmt: skip
        env = {**os.environ, **_APART, PATH_VARIABLE: str(compiled()), **bytecode_environment()}
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
            said = (
                done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
            ).splitlines()
        except subprocess.TimeoutExpired:
            said = [f"not within {PATIENCE_S:g} s"]
        found = read_report(log.read_text(errors="replace") if log.exists() else "")
    return found, said[-1][:300]


def _job(problem: Problem, kernel: Kernel, build: Build, points: list[Workload]) -> dict[str, Any]:
    nouns = {"problem": problem, "kernel": kernel, "build": build}
    rows = {name: noun.model_dump(mode="json") for name, noun in nouns.items()}
    return {**rows, "points": [point.model_dump(mode="json") for point in points]}
