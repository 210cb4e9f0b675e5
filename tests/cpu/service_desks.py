"""A desk that judges by what a kernel's source says, for tests of the service around it.

`# case NAME sleep 0.1 reject` in a source: the words after the name say what happens. Each judgement adds
the name to the file `judged` in the folder that SERVICE_DESK names; a file `unsound` there makes the
known-good kernel fail.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.measurement import Measurement, Speedup, Timing
from kernelwright.core.problem import CONTRACT_VERSION, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import GateResult, Level, Verdict
from kernelwright.service.ticketed import Outcome

CPU = Target.parse("cpu")


class ScriptedDesk:
    """Does what sources say."""

    def __init__(self, target: Target) -> None:
        self._folder = Path(os.environ["SERVICE_DESK"])

    def about(self) -> str:
        return "scripted"

    def check(self) -> str:
        return "scripted to fail" if (self._folder / "unsound").exists() else ""

    def judge(self, problem: Problem, kernel: Kernel, build: Build, level: Level) -> Outcome:
        words = next(line for line in kernel.sources[0].text.splitlines() if "# case" in line).split()[2:]
        with (self._folder / "judged").open("a") as log:
            log.write(f"{words[0]}\n")
        if "sleep" in words:
            time.sleep(float(words[words.index("sleep") + 1]))
        if "crash" in words:
            os._exit(1)
        if "fault" in words:
            return Outcome(fault="scripted fault")
        if "mistake" in words:
            return Outcome(fault="scripted mistake", by_request=True)
        return Outcome(evaluation(problem.hash, kernel, level, rejected="reject" in words))


def evaluation(
    problem: str,
    kernel: Kernel,
    level: Level = "quick",
    *,
    rejected: bool = False,
    low: float = 1.5,
    status: str = "won",
) -> Evaluation:
    """An evaluation with everything in it that a trainer must not see."""
    message = "element 77 is 3.25, allowed is 0.0625" if rejected else ""
    gate = GateResult.model_validate({
        "name": "numeric", "status": "fail" if rejected else "pass", "kind": "answer", "message": message,
        "evidence": {"at": 77, "value": 3.25, "limit": 0.0625, "seed": 424242},
    })  # fmt: skip
    timing = Timing(name="kernel", latency_us=10.0, ci=(9.0, 11.0), samples_us=((10.0,),))
    measurement = Measurement.model_validate({
        "clock": "outside", "kernel": timing, "status": status,
        "speedups": (Speedup(baseline="eager", ratio=low + 0.2, ci=(low, low + 0.4)),),
    })  # fmt: skip
    return Evaluation(
        problem=problem,
        kernel=kernel.hash,
        target=CPU,
        build=Build(kernel=kernel.hash, target=CPU, status="built"),
        verdict=Verdict.of([gate], level, CONTRACT_VERSION, ["full: more draws"]),
        measurement=None if rejected else measurement,
    )
