"""`Bench`: where one problem is judged, with the candidate and the truth kept apart.

    with Bench.open(problem, workload, target) as bench:
        bench.draw("a", seed=secrets.randbits(63)); bench.load(kernel, build); bench.prepare()
        report = bench.run("a"); bench.handover("a")
        bench.reference.call("kernelwright.verify.compare:compare", slot="a")
        bench.baseline("compile"); bench.call("compile", "a"); bench.call("kernel", "a")

Two workers or three, one active at a time: on a CPU on the same cores, on CUDA with a context each on one
GPU (`processes`). Timed calls are in `calls`. Methods that return a report say there what a candidate did
wrong, others raise `CandidateFailed`. A worker that was lost is replaced, and a known-good kernel must pass
in the new one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from kernelwright.core.errors import ProblemError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem, Workload
from kernelwright.core.target import Target
from kernelwright.execute.calls import Calls
from kernelwright.execute.faults import our_error
from kernelwright.execute.points import Point, Points
from kernelwright.execute.replicates import Opening, Replicates
from kernelwright.execute.replies import microseconds, run_report
from kernelwright.execute.reports import CandidateFailed, RunReport
from kernelwright.execute.sizes import result_bytes
from kernelwright.execute.workers import PATIENT_S, Workers
from kernelwright.sandbox import Limits, Worker, WorkerFailure

__all__ = ["PATIENT_S", "Bench"]
_WARM = "warm-up of a baseline"


class Bench(Calls):
    """One problem at one workload, and the workers that know it. Made by `open`; end it with `close`."""

    def __init__(self, problem: Problem, workload: Workload, workers: Workers, weights_seed: int) -> None:
        self.problem = problem
        self._workers = workers
        self._points = Points(problem, workload, workers)
        self._weights_seed = weights_seed
        self.replicates: Replicates | None = None
        """Processes that `restart` takes instead of starting one."""

    @classmethod
    def open(
        cls,
        problem: Problem,
        workload: Workload | None = None,
        target: Target | None = None,
        limits: Limits | None = None,
        *,
        weights_seed: int = 0,
        cores: tuple[int, ...] | None = None,
        timeout_s: float = 20.0,
        workers: Workers | None = None,
        brings_python: bool = False,
    ) -> Bench:
        """Start the workers and open the problem in them.

        `limits` are the candidate's, where it is confined; `timeout_s` is the longest that one action
        of a candidate may take; `workers` may have been started beforehand; `brings_python`: kernels are
        open. ProblemError if the reference does not run, EnvironmentFault if the machine lacks what is
        needed.
        """
        target = target or Target.parse("cpu")
        allowed = tuple(sorted(os.sched_getaffinity(0)))
        chosen = cores or (allowed[: target.threads] if target.threads else allowed)
        started = workers or Workers(target, chosen, limits, timeout_s, brings_python=brings_python)
        bench = cls(problem, workload or problem.base, started, weights_seed)
        with ExitStack() as undo:
            undo.callback(bench.close)
            bench._open_all()
            undo.pop_all()
        return bench

    @property
    def _here(self) -> Point:
        return self._points.here

    @property
    def workload(self) -> Workload:
        """The workload that is judged at now."""
        return self._here.workload

    @property
    def reference(self) -> Worker:
        """The worker that holds the truth."""
        return self._workers.reference

    @property
    def candidate(self) -> Worker:
        """The worker that runs kernels."""
        return self._workers.candidate

    @property
    def opponents(self) -> Worker:
        """The worker that runs baselines."""
        return self._workers.opponents

    @property
    def drawn(self) -> Collection[str]:
        """Names of the slots that are drawn at this workload."""
        return self._here.slots

    @property
    def opening(self) -> Opening:
        """What a worker is told first."""
        return Opening(self.problem, self.workload, self.device, self._weights_seed, len(self.cores))

    @property
    def target(self) -> Target:
        """What kernels are built for."""
        return self._workers.target

    @property
    def cores(self) -> tuple[int, ...]:
        """Cores that both sides are pinned to, on a CPU."""
        return self._workers.cores

    @property
    def timeout_s(self) -> float:
        """Longest time that one action of a candidate may take."""
        return self._workers.timeout_s

    @timeout_s.setter
    def timeout_s(self, seconds: float) -> None:
        self._workers.timeout_s = seconds

    @property
    def device(self) -> str:
        """`cpu` or `cuda`, as torch says it."""
        return self.target.name

    def close(self) -> None:
        """End the workers and free what they shared."""
        self._workers.stop()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def select(self, workload: Workload) -> None:
        """Go on at another workload, in the same workers. The kernel is unloaded; slots and baselines of
        the workload before wait there until it is selected again, or left.

        ProblemError if the reference cannot be made there; then the workload stays what it was.
        """
        self._revive()
        try:
            if self._workers.loaded:
                self.unload()
        finally:  # a kernel that fails at its end leaves the bench where it was asked to be
            self._revive()
            point = self._points.find(workload)
            if point is None:
                self._add(workload)
            else:
                self._points.go_to(point)

    def leave(self, workload: Workload) -> None:
        """Free what was drawn and made at a workload that is not the selected one."""
        self._revive()
        if self._points.find(workload) is not None:
            self._points.leave(workload, self._workers.each())

    def restart(self, keep: Collection[str] | None = None) -> None:
        """Fresh processes for the kernel and its baselines: the replicate of a measurement.

        The process that holds the truth stays. Slots are drawn again (only those in `keep`, the others
        are dropped), other workloads are left; load the kernel again.
        """
        self._points.keep(self._here.slots if keep is None else keep, self.reference)
        compiles = any(name.startswith("compile") for name in self._here.baselines)
        self._here.baselines.clear()
        taken = self.replicates.take() if self.replicates else None
        if taken is None:
            fresh = self._workers.restart(compiles=compiles)
        else:
            fresh = self._workers.adopt(taken.worker, taken.partner)
            self._here.baselines |= taken.baselines
        for worker in fresh:
            known = taken is not None and worker is taken.worker and taken.opened == self.opening
            self._open(worker, opened=known)
        self._redraw(fresh)

    def renew(self) -> None:
        """A fresh process for the candidate, and no slots: a judgement that owes nothing to the one before.

        The process that holds the truth stays, without what it expected.
        """
        self._points.keep((), self.reference)
        if self._here.other_weights is not None:
            self._workers.ask(self.reference, "remake_weights", seed=self._weights_seed)
            self._here.other_weights = None
        self._workers.renew()
        self._open(self.candidate)

    @contextmanager
    def anticipating(self, count: int, names: Sequence[str]) -> Iterator[None]:
        """On a CPU: begin the processes of `count` restarts, with these baselines, while nothing is timed."""
        compiles = any(name.startswith("compile") for name in names)
        start = partial(self._workers.processes.baselines, compiles=compiles)
        self.replicates = Replicates(count, start, self._workers.processes.candidate)
        try:
            self.replicates.begin(self.opening, names)
            yield
        finally:
            self.replicates.close()
            self.replicates = None

    def draw(self, slot: str, seed: int, draw: str = "file") -> None:
        """Draw inputs from `seed` into a slot, in each worker."""
        self._revive()
        for worker in self._workers.each():
            self._points.draw_in(worker, slot, seed, draw)
        self._here.slots[slot] = (seed, draw)

    def drop(self, slot: str) -> None:
        """Free a slot."""
        self._revive()
        self._here.slots.pop(slot, None)
        for worker in self._workers.each():
            self._workers.ask(worker, "drop", slot=slot)

    def load(self, kernel: Kernel, build: Build) -> None:
        """Load a kernel in place of the one before; CandidateFailed if it does not load or fit."""
        self._workers.admits(kernel)
        self._revive()
        self._workers.begin(kernel)
        self._workers.act("load", kernel=kernel.model_dump(mode="json"), build=build.model_dump(mode="json"))

    def unload(self) -> None:
        """Free the kernel; on CUDA its module leaves the context."""
        self._revive()
        self._workers.act("unload")
        self._workers.loaded = False

    def prepare(self, weights_seed: int | None = None) -> float:
        """Run the plan's `prepare`; microseconds. With a seed, all workers get other weights first."""
        self._revive()
        if weights_seed is not None:
            self._here.other_weights = weights_seed
            for worker in self._workers.each():
                self._workers.ask(worker, "remake_weights", seed=weights_seed)
        return microseconds(self._workers.act("prepare"), "us")

    def reset(self) -> None:
        """Mutated buffers back to their first values, in each worker."""
        self._revive()
        for worker in self._workers.each():
            self._workers.ask(worker, "reset")

    def run(self, slot: str, *, poison: bool = True) -> RunReport:
        """Run the kernel once on a slot, to be compared; `poison` fills its outputs with 0xFF bytes first."""
        try:
            self._need(slot)
            return run_report(slot, self._workers.act("run", slot=slot, poison=poison))
        except CandidateFailed as error:
            return RunReport(slot, failure=error.failure)

    def handover(self, slot: str) -> None:
        """Make the outputs of the slot's last run visible to the reference worker."""
        fd = None if self._workers.arena is None else self._workers.arena.fd
        self._workers.act("export", slot=slot, fd=fd)
        self._workers.ask(self.reference, "receive", slot=slot, fd=fd)

    def hold(self, args: Collection[str], outputs: Collection[str]) -> None:
        """Have the candidate's process hold the inputs of these slots alone, and the outputs of those.

        Other inputs are drawn again, from their seeds, when they are looked at.
        """
        self._revive()
        self._workers.ask(self.candidate, "hold", args=sorted(args), outputs=sorted(outputs))

    def keep_timed(self, slot: str) -> None:
        """Take the results of the kernel's last timed call as the slot's outputs."""
        self._need(slot)
        self._workers.act("keep_timed", slot=slot)

    def baseline(self, name: str) -> str | None:
        """Make a baseline ready in the worker that runs them; the reason if it cannot be."""
        self._revive()
        slot = next(iter(self._here.slots), _WARM)
        if slot == _WARM:
            self._points.draw_in(self.opponents, _WARM, 0, "file")
        found = self._workers.ask(self.opponents, "baseline", name=name, slot=slot)
        if slot == _WARM:
            self._workers.ask(self.opponents, "drop", slot=_WARM)
        reason: str | None = found["reason"]
        if reason is None:
            self._here.baselines.add(name)
        return reason

    def _open_all(self) -> None:
        for worker in self._workers.each():
            self._open(worker)

    def _add(self, workload: Workload) -> None:
        """Open the problem at one more workload, and go on there."""
        before = self._points.here
        self._points.add(workload)
        try:
            for worker in self._workers.each():
                self._open(worker, beside=True)
        except ProblemError:
            self._points.go_to(before)
            self._points.leave(workload, self._workers.each())
            raise

    def _open(self, worker: Worker, *, opened: bool = False, beside: bool = False) -> None:
        """Tell a worker the problem, unless it knows it, and let it share memory with the other one."""
        if not opened:
            try:
                self.opening.tell(worker, beside=beside)
            except WorkerFailure as error:
                raise our_error(error, "'open_problem'") from error
        if self._here.other_weights is not None:
            # The same history in each worker, so that `reset` means the same in each.
            self._workers.ask(worker, "remake_weights", seed=self._here.other_weights)
        self._workers.share(worker, result_bytes(self.problem, self.workload))

    def _redraw(self, workers: Sequence[Worker]) -> None:
        for slot, (seed, draw) in self._here.slots.items():
            for worker in workers:
                self._points.draw_in(worker, slot, seed, draw)

    def _need(self, slot: str) -> None:
        """A worker that lives, and a slot that was drawn: UsageError if it was not."""
        self._revive()
        self._points.require(slot)

    def _revive(self) -> None:
        """Replace the candidate's worker if it is lost, and tell the new one what the old one knew."""
        if not self._workers.revive():
            return
        if self.opponents is self.candidate:
            self._here.baselines.clear()
        for point in [*self._points.others(), self._here]:
            self._points.here = point
            self._open(self.candidate, beside=True)
            self._redraw([self.candidate])
