"""The workers of a bench: asked by name, and replaced when a candidate broke one.

`reference` and `candidate` are two processes, of which one at a time is active: on the same cores, or
on one GPU with a context each. Where baselines run, and how each process is started, is `processes`'s.
On a CPU the reference's process runs the baselines too, until both sides of a measurement are to be
fresh: then baselines get a process of their own, and what is expected stays. Whoever asks says whether
a candidate's code takes part (`act`) or not (`ask`): that decides what an error means.

A process that uses a GPU costs seconds to start, so one stands by to replace one that a candidate broke.
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.errors import EnvironmentFault, KernelwrightError, UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.target import Target
from kernelwright.execute.arena import Arena
from kernelwright.execute.faults import failure_of, our_error
from kernelwright.execute.known_good import known_good
from kernelwright.execute.processes import OPS, OnDevice, OnHost, OpenOnDevice, Processes
from kernelwright.execute.replies import failure_in
from kernelwright.execute.reports import CandidateFailed, Failure
from kernelwright.sandbox import CallFailed, Limits, Worker, WorkerDied, WorkerFailure, WorkerTimedOut

PATIENT_S = 1800.0
"""For our own work: drawing, compiling baselines."""


class Workers:
    """Warm processes, and the memory between them."""

    def __init__(
        self,
        target: Target,
        cores: tuple[int, ...],
        limits: Limits | None,
        timeout_s: float,
        *,
        brings_python: bool = False,
    ) -> None:
        """`limits` are the candidate's, where it is confined; `brings_python`: kernels are open.

        EnvironmentFault if a worker cannot start.
        """
        self.target = target
        self.cores = cores
        self.timeout_s = timeout_s
        self.loaded = False
        """Whether a candidate's code is in its worker, and so to blame for what happens there."""
        self.lost = False
        """Whether the candidate's worker can no longer be trusted."""
        self.opened: str | None = None
        """Hash of the open kernel whose Python has run in the candidate's process."""
        self.failure: Failure | None = None
        """How the candidate that was loaded last failed."""
        self.arena: Arena | None = None
        """Shared memory between the two on a CPU; on CUDA they share device memory."""
        self.reference: Worker
        self.candidate: Worker
        self._handle = ""
        """Of the device memory that the reference's process owns."""
        self._shared_bytes = 0
        self._standing_by: list[Worker] = []
        self._baseline_runner: Worker | None = None
        """The process that baselines run in, where they have one of their own."""
        self.processes: Processes = self._arranged(limits or Limits.candidate(), brings_python)
        self._start()

    @property
    def opponents(self) -> Worker:
        """The process that baselines run in."""
        if self.processes.together:
            return self.candidate
        return self._baseline_runner or self.reference

    def each(self) -> list[Worker]:
        """Each worker, the reference first."""
        own = [] if self._baseline_runner is None else [self._baseline_runner]
        return [self.reference, self.candidate, *own]

    def stop(self) -> None:
        """End the processes and free what they shared."""
        for worker in (*self.each(), *self._standing_by):
            worker.stop()
        self.processes.close()
        if self.arena is not None:
            self.arena.close()

    def restart(self, *, compiles: bool = True) -> list[Worker]:
        """Fresh processes for the kernel and the baselines; returns them, with nothing opened in them.

        `compiles`: baselines will be compiled in it. The reference's process stays.
        """
        self.loaded, self.lost, self.opened = False, False, None
        if not self.processes.together:
            return self.adopt(self.processes.baselines("baselines", compiles=compiles))
        self._replace()
        return [self.candidate]

    def renew(self) -> None:
        """A fresh process for the candidate alone, with nothing opened in it."""
        self.loaded, self.lost, self.opened = False, False, None
        self._replace()

    def adopt(self, worker: Worker, partner: Worker | None = None) -> list[Worker]:
        """Take fresh processes, begun as `processes` does; what `restart` would say."""
        self.loaded, self.lost, self.opened = False, False, None
        self.candidate.stop()
        if self.processes.together:
            self.candidate = worker
            return [worker]
        if self._baseline_runner is not None:
            self._baseline_runner.stop()
        self.candidate, self._baseline_runner = partner or self.processes.candidate("candidate"), worker
        return [self.candidate, worker]

    def share(self, worker: Worker, nbytes: int) -> None:
        """Let this worker, in which the problem was opened just now, share `nbytes` with the other."""
        if self.arena is not None:
            self.arena.reserve(nbytes)
        elif worker is self.candidate:
            self.ask(worker, "join", handle=self._handle, nbytes=self._shared_bytes)
        elif worker is self.reference and nbytes > self._shared_bytes:
            if self._handle:  # nobody may map it when it is given back
                self.ask(self.candidate, "join", handle="", nbytes=0)
            self._handle, self._shared_bytes = str(self.ask(worker, "share", nbytes=nbytes)["handle"]), nbytes

    def _replace(self) -> None:
        """Another process for candidates: one that stands by, or the same started again."""
        if not self._standing_by:
            self.candidate.restart()
            return
        self.candidate.stop()
        self.candidate = self._standing_by.pop(0)

    def revive(self) -> bool:
        """Replace the candidate's worker if it is lost; whether it was.

        EnvironmentFault if a kernel known to be right does not pass in the new one.
        """
        if not self.lost and self.candidate.alive:
            return False
        self.loaded, self.lost, self.opened = False, False, None
        self._replace()
        names = ("problem", "kernel", "build")
        rows = {
            name: noun.model_dump(mode="json")
            for name, noun in zip(names, known_good(self.target), strict=True)
        }
        try:
            passed = self.candidate.call(
                "kernelwright.execute.known_good:passes",
                timeout_s=PATIENT_S,
                device=self.target.name,
                **rows,
            )
        except WorkerFailure as error:
            raise our_error(error, "a kernel known to be right") from error
        if not passed:
            raise EnvironmentFault(
                "a kernel known to be right gives wrong results after a failed candidate; restart the device"
            )
        return True

    def ask(self, worker: Worker, op: str, **parameters: Any) -> Any:
        """Our own work in a worker. Where a candidate's code is loaded, it is to blame for a dead worker."""
        try:
            return self.request(worker, op, PATIENT_S, **parameters)
        except (WorkerDied, WorkerTimedOut) as error:
            if self.loaded and worker is self.candidate:
                raise CandidateFailed(self.blame(error)) from error
            raise our_error(error, f"'{op}'") from error
        except WorkerFailure as error:
            raise our_error(error, f"'{op}'") from error

    def act(self, op: str, **parameters: Any) -> dict[str, Any]:
        """Work in which the candidate takes part; CandidateFailed if it fails."""
        return self.act_in(self.candidate, op, **parameters)

    def act_in(self, worker: Worker, op: str, **parameters: Any) -> dict[str, Any]:
        """The same in a worker that may be the reference, whose failures are no candidate's."""
        try:
            reply = self.request(worker, op, self.timeout_s, **parameters)
        except WorkerFailure as error:
            if worker is not self.candidate:
                raise our_error(error, f"'{op}'") from error
            if isinstance(error, CallFailed) and not self.loaded:
                raise self._unloaded(error, op) from error
            raise CandidateFailed(self.blame(error)) from error
        failure = failure_in({} if reply is None else reply)
        if failure is not None:
            self.lost = self.lost or not isinstance(reply, dict) or bool(reply.get("poisoned"))
            self.failure = failure
            raise CandidateFailed(failure)
        return reply or {}

    def request(self, worker: Worker, op: str, timeout_s: float, **parameters: Any) -> Any:
        """Call a function of `ops`, or `module:function`; whatever the worker's errors are, they pass."""
        function = op if ":" in op else f"{OPS}:{op}"
        return worker.call(function, timeout_s=timeout_s, **parameters)

    def admits(self, kernel: Kernel) -> None:
        """Give up the candidate's worker if another open kernel's Python has run there.

        UsageError for a kernel that brings Python where candidates are not confined.
        """
        if kernel.trust == "open" and self.processes.together:
            raise UsageError(
                f"kernel '{kernel.name}' brings its own Python, and this bench is for sealed kernels; "
                "open one with brings_python=True"
            )
        self.lost = self.lost or self.opened not in (None, kernel.hash)

    def begin(self, kernel: Kernel) -> None:
        """From now on a new candidate is to blame."""
        self.loaded, self.failure = True, None
        self.opened = kernel.hash if kernel.trust == "open" else None
        if self.processes.stands_by and not self._standing_by:
            self._standing_by.append(self.processes.candidate("candidate"))

    def blame(self, error: WorkerFailure) -> Failure:
        """The failure that an error means; the worker is not used again."""
        self.lost = True
        self.failure = failure_of(error)
        return self.failure

    def _unloaded(self, error: CallFailed, op: str) -> KernelwrightError:
        """What an error means where no kernel is loaded, perhaps because it failed before."""
        return CandidateFailed(self.failure) if self.failure is not None else our_error(error, f"'{op}'")

    def _arranged(self, limits: Limits, brings_python: bool) -> Processes:
        if self.target.name == "cuda":
            return OpenOnDevice(limits) if brings_python else OnDevice()
        self.arena = Arena()
        return OnHost(self.cores, limits, self.arena.fd)

    def _start(self) -> None:
        self.reference = self.processes.reference()
        self.candidate = self.processes.candidate("candidate")
        if self.processes.apart:
            self._baseline_runner = self.processes.baselines("baselines", compiles=True)
