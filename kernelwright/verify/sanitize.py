"""Gate `sanitize`: a sealed kernel touches only its own memory, and does nothing undefined (`paranoid`).

A C++ kernel is compiled once more with g++'s address and undefined-behaviour sanitizers and run, on inputs
whose memory ends where their last element does, in a process of its own. A read of one element too many
changes no answer and passes every other gate. Device code runs under compute-sanitizer (`sanitize_cuda`).

A trivial kernel goes first: where that does not run, the machine is at fault and the gate is skipped. Not
covered: of C++ uninitialized reads (the numeric gates poison) and races between threads; open kernels.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernelwright.core.expr import holds
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem, Workload
from kernelwright.core.target import Target
from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.execute.known_good import known_good
from kernelwright.execute.native import PATH_VARIABLE, compiled
from kernelwright.languages import build
from kernelwright.languages.cpp import compiler
from kernelwright.sandbox import Limits, Worker, WorkerDied, WorkerFailure
from kernelwright.verify.base import Case, Rejected, When, passed, skipped
from kernelwright.verify.narrow import narrowings
from kernelwright.verify.sanitize_cuda import look, tools_that_run

OPTIONS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1")
LIBRARIES = ("libasan.so", "libubsan.so")
SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:alloc_dealloc_mismatch=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
}
DRAWS = ("file", "nonfinite")
POINTS = 4
"""Sizes at which the kernel runs, at most."""
START_S, RUN_S = 180.0, 120.0
_OPS, _KNOWN_GOOD = "kernelwright.execute.ops:", "kernelwright.execute.known_good:passes"
_FOUND = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)|(\S+:\d+):\d+: runtime error: (.+)")
_FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in (.+)")
_OURS = re.compile(r"kw_(?:shim|unit)|/lib/|\bpython\b")


class SanitizeGate:
    """Sanitizers find nothing."""

    name = "sanitize"
    kind: ReasonKind = "safety"
    when: When = "after"
    needs_bench = False

    def check(self, case: Case) -> GateResult:
        """Build with sanitizers, run at several sizes, read what they say."""
        if case.level != "paranoid":
            return skipped(
                self, "reads out of bounds and undefined behaviour are looked for at level paranoid"
            )
        if case.kernel.trust == "open":
            return skipped(self, "no sanitizers are used for open kernels, which bring their own host code")
        if case.target.name == "cuda":
            return self._on_device(case)
        libraries = _libraries()
        if libraries is None:
            return skipped(self, f"{compiler()[0]} has no {' and '.join(LIBRARIES)}; install them")
        why = _lacking(case.target, libraries)
        if why:
            return skipped(self, f"the sanitizers do not run here: {why}")
        return passed(self, points=_sanitized(case, libraries), draws=list(DRAWS))

    def _on_device(self, case: Case) -> GateResult:
        found = tools_that_run(case.target)
        lacking = [f"{tool}: {why}" for tool, why in found.items() if why]
        usable = [tool for tool, why in found.items() if not why]
        if not usable or case.build is None:
            return skipped(self, lacking[0] if lacking else "the kernel was not built")
        points = _points(case.problem, case.kernel)
        unfinished = look(usable, case.problem, case.kernel, case.build, points)
        case.not_checked += [*lacking, *unfinished]
        return passed(self, tools=usable, points=[point.name for point in points])


def _lacking(target: Target, libraries: str) -> str:
    """Why a kernel that is known to be right does not run under them, or nothing."""
    problem, plain, _ = known_good(target)
    kernel, made = _with_sanitizers(plain, target)
    nouns = {
        name: noun.model_dump(mode="json")
        for name, noun in (("problem", problem), ("kernel", kernel), ("build", made))
    }
    try:
        with _worker(libraries) as worker:
            right = worker.call(_KNOWN_GOOD, RUN_S, device=target.name, **nouns)
    except WorkerFailure as error:
        return str(error)
    return "" if right else "a kernel known to be right is wrong there"


def _sanitized(case: Case, libraries: str) -> list[str]:
    """Run the kernel at several sizes; their names."""
    kernel, made = _with_sanitizers(case.kernel, case.target)
    if made.status != "built":
        raise Rejected("build", f"it does not build with sanitizers: {made.log.strip().splitlines()[0]}")
    points = _points(case.problem, kernel)
    with _worker(libraries) as worker:
        try:
            for point in points:
                _run(worker, case.problem, kernel, made, point)
        except WorkerDied as error:
            raise Rejected("safety", _said(error.stderr) or str(error)) from error
        except WorkerFailure as error:
            raise Rejected("safety", f"under sanitizers: {error}") from error
    return [point.name for point in points]


def _with_sanitizers(kernel: Kernel, target: Target) -> tuple[Kernel, Build]:
    changed = kernel.model_copy(update={"options": (*kernel.options, *OPTIONS)})
    return changed, build(changed, target)


def _points(problem: Problem, kernel: Kernel) -> list[Workload]:
    """Small sizes inside the domain where there are such, else the problem's own."""
    inside = [
        point for point in problem.workloads[1:] if holds(kernel.domain, {**problem.axis_sizes, **point.axes})
    ]
    small = [*narrowings(problem, kernel.domain), *inside]
    return small[:POINTS] or [problem.base]


def _run(worker: Worker, problem: Problem, kernel: Kernel, made: Build, point: Workload) -> None:
    """One kernel at one point, on each draw; Rejected where it cannot run."""

    def ask(function: str, **parameters: Any) -> None:
        reply = worker.call(_OPS + function, RUN_S, **parameters)
        if isinstance(reply, dict) and "failure" in reply:
            kind, message = reply["failure"]
            raise Rejected("contract" if kind == "contract" else "safety", f"under sanitizers: {message}")

    noun = {"problem": problem.model_dump(mode="json"), "workload": point.model_dump(mode="json")}
    ask("open_problem", device="cpu", weights_seed=0, threads=2, **noun)
    ask("load", kernel=kernel.model_dump(mode="json"), build=made.model_dump(mode="json"))
    ask("prepare")
    for seed, draw in enumerate(DRAWS):
        ask("draw", slot=draw, seed=seed, draw=draw)
        ask("run", slot=draw, poison=False)  # nothing behind the outputs that would hide a write there
    ask("close")


@contextmanager
def _worker(libraries: str) -> Iterator[Worker]:
    """A process whose memory is the sanitizers'; their shadow takes terabytes of addresses."""
    limits = dataclasses.replace(Limits.candidate(), memory_bytes=None, address_space=False)
    ours = {"LD_PRELOAD": libraries, "OMP_NUM_THREADS": "2", PATH_VARIABLE: str(compiled())}
    with Worker.start("sanitizer", limits, env={**SETTINGS, **ours}, start_timeout_s=START_S) as worker:
        yield worker


@lru_cache(maxsize=1)
def _libraries() -> str | None:
    """The compiler's sanitizer libraries, as `LD_PRELOAD` takes them; None if one is missing."""
    command = compiler()
    if shutil.which(command[0]) is None:
        return None
    asked = [
        subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        for name in LIBRARIES
    ]
    paths = [done.stdout.strip() for done in asked]
    return (
        " ".join(paths) if all(Path(path).is_absolute() and Path(path).exists() for path in paths) else None
    )


def _said(report: str) -> str:
    """What a sanitizer printed, in one line: what it found, and the first place in the kernel's own text."""
    found = _FOUND.search(report)
    if found is None:
        return ""
    what = found[1] or f"{found[2]}: {found[3]}"
    access = re.search(r"\b(READ|WRITE) of size \d+", report)
    frames = [re.sub(r"\S*/", "", each) for each in _FRAME.findall(report) if not _OURS.search(each)]
    parts = [what, access[0].lower() if access and found[1] else "", f"in {frames[0]}" if frames else ""]
    return ", ".join(part for part in parts if part)
