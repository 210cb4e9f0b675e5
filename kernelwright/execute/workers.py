"""The workers of a bench: started alike, asked by name, and replaced when a candidate broke one.

On a CPU `reference` and `candidate` are two processes on the same cores, of which one at a time is
active; on CUDA both names are one process. Whoever asks says whether a candidate's code takes part
(`act`) or not (`ask`): that decides what an error means.
"""

from __future__ import annotations

from typing import Any

from kernelwright.core.errors import EnvironmentFault, KernelwrightError
from kernelwright.core.target import Target
from kernelwright.execute.arena import Arena
from kernelwright.execute.faults import failure_of, our_error
from kernelwright.execute.known_good import known_good
from kernelwright.execute.native import PATH_VARIABLE, compiled
from kernelwright.execute.replies import failure_in
from kernelwright.execute.reports import CandidateFailed, Failure
from kernelwright.execute.worker_environment import timed_environment
from kernelwright.sandbox import CallFailed, Limits, Worker, WorkerDied, WorkerFailure, WorkerTimedOut

OPS = "kernelwright.execute.ops"
PATIENT_S = 1800.0
"""For our own work: drawing, compiling baselines."""


class Workers:
    """One or two warm processes, and the shared memory between them."""

    def __init__(
        self, target: Target, cores: tuple[int, ...], limits: Limits | None, timeout_s: float
    ) -> None:
        """`limits` are the candidate's, on a CPU. EnvironmentFault if a worker cannot start."""
        self.target = target
        self.cores = cores
        self.timeout_s = timeout_s
        self.loaded = False
        """Whether a candidate's code is in its worker, and so to blame for what happens there."""
        self.lost = False
        """Whether the candidate's worker can no longer be trusted."""
        self.failure: Failure | None = None
        """How the candidate that was loaded last failed."""
        self.arena: Arena | None = None
        self._start(limits)

    @property
    def shared(self) -> bool:
        """Whether both names are one worker."""
        return self.reference is self.candidate

    def each(self) -> list[Worker]:
        """Each worker once, the reference first."""
        return [self.reference] if self.shared else [self.reference, self.candidate]

    def stop(self) -> None:
        """End the processes and free what they shared."""
        for worker in self.each():
            worker.stop()
        if self.arena is not None:
            self.arena.close()

    def restart(self) -> None:
        """Fresh processes, with nothing opened in them."""
        self.loaded = self.lost = False
        for worker in self.each():
            worker.restart()

    def revive(self) -> bool:
        """Replace the candidate's worker if it is lost; whether it was.

        EnvironmentFault if a kernel known to be right does not pass in the new one.
        """
        if not self.lost and self.candidate.alive:
            return False
        self.lost = self.loaded = False
        self.candidate.restart()
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
        """Call a function of `ops`; whatever the worker's errors are, they pass."""
        return worker.call(f"{OPS}:{op}", timeout_s=timeout_s, **parameters)

    def begin(self) -> None:
        """From now on a new candidate is to blame."""
        self.loaded, self.failure = True, None

    def blame(self, error: WorkerFailure) -> Failure:
        """The failure that an error means; the worker is not used again."""
        self.lost = True
        self.failure = failure_of(error)
        return self.failure

    def _unloaded(self, error: CallFailed, op: str) -> KernelwrightError:
        """What an error means where no kernel is loaded, perhaps because it failed before."""
        return CandidateFailed(self.failure) if self.failure is not None else our_error(error, f"'{op}'")

    def _start(self, limits: Limits | None) -> None:
        preload = ("torch", OPS)
        env = {PATH_VARIABLE: str(compiled())}
        if self.target.name == "cuda":
            self.reference = self.candidate = Worker.start("bench", Limits.trusted(), None, env, preload)
            return
        self.arena = Arena()
        env.update(timed_environment(len(self.cores)))
        rest = (self.cores, env, preload)
        fds = (self.arena.fd,)
        contained = limits or Limits.candidate()
        self.reference = Worker.start("reference", Limits.trusted(), *rest, pass_fds=fds, wait=False)
        self.candidate = Worker.start("candidate", contained, *rest, pass_fds=fds, wait=False)
