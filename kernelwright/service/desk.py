"""`Desk`: what judges in a lane: one device, one kernel at a time, workers kept open for one problem.

At `quick` kernels of a problem share draws and the candidate's process, as in a search, `SHARED` of them at
most; then both are new. At `full` and `paranoid` each kernel has draws and processes of its own.

A fault is told apart by what it is about: what a request is to blame for would be the same in any lane, all
else may be the lane's, and a kernel that is known to be right decides.
"""

from __future__ import annotations

import os
import platform
from dataclasses import replace

from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.execute.present import require_device
from kernelwright.execute.workers import Workers
from kernelwright.search.session import Session
from kernelwright.service.ticketed import Outcome
from kernelwright.verify.slots import Slots

SHARED = 64
CHECK_TIMEOUT_S = 60.0


class Desk:
    """Judges kernels; made in the lane's own process, which sees one GPU at most."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._session: Session | None = None
        self._judged = 0
        """Kernels that shared the session's draws."""

    def about(self) -> str:
        """The host's name, and the GPU as it is numbered there."""
        device = os.environ.get("CUDA_VISIBLE_DEVICES", "") if self._target.name == "cuda" else ""
        return f"{platform.node()} {self._target.name}{device}"

    def check(self) -> str:
        """Run a kernel that is known to be right, in a fresh process; empty, or why it did not pass."""
        self.close()
        try:
            require_device(self._target)
            workers = Workers(self._target, _cores(self._target), None, CHECK_TIMEOUT_S)
            try:
                workers.lost = True
                workers.revive()
            finally:
                workers.stop()
        except KernelwrightError as error:
            return str(error)
        return ""

    def judge(self, problem: Problem, kernel: Kernel, build: Build, level: Level) -> Outcome:
        """Judge one kernel; what goes wrong is data here, and the next one begins with fresh workers."""
        try:
            return Outcome(self._evaluated(problem, kernel, build, level))
        except KernelwrightError as error:
            self.close()
            return Outcome(fault=str(error), by_request=isinstance(error, UsageError))

    def close(self) -> None:
        """End the workers."""
        if self._session is not None:
            self._session.slots.bench.close()
            self._session = None

    def _evaluated(self, problem: Problem, kernel: Kernel, build: Build, level: Level) -> Evaluation:
        if kernel.trust == "open" or level == "paranoid" or (level == "full" and self._target.name != "cpu"):
            self.close()  # they start workers of their own: two benches would share the device
            return evaluate(problem, kernel, self._target, level, build=build)
        session = self._opened(problem)
        if level == "full":
            self._judged = SHARED  # it takes the bench's candidate and leaves no draws behind
            return session.final(kernel, build)
        self._judged += 1
        return session.quick(kernel, build, incumbent=None)

    def _opened(self, problem: Problem) -> Session:
        """The session of a problem, with draws that fewer than `SHARED` kernels have met."""
        if self._session is None or self._session.problem != problem:
            self.close()
            self._session = Session.open(Bench.open(problem, problem.base, self._target))
            self._judged = 0
        if self._judged >= SHARED:
            bench = self._session.slots.bench
            bench.renew()
            self._session = replace(self._session, slots=Slots(bench))
            self._judged = 0
        return self._session


def _cores(target: Target) -> tuple[int, ...]:
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    return allowed[: target.threads] if target.threads else allowed
