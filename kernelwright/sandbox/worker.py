"""`Worker`: a warm process that runs named functions under limits, one call at a time.

    worker = Worker.start("candidate", Limits.candidate(), cpus=(0, 1), preload=("torch",))
    worker.call("kernelwright.execute.ops:draw", timeout_s=10.0, slot="a", seed=3)

What a call can come to besides a result is in `errors`. The parent believes nothing that a worker
sends: whatever is not the reply that was due ends the worker. It knows nothing of kernels.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.sandbox.confine import Layers
from kernelwright.sandbox.environment import environment_for
from kernelwright.sandbox.errors import CallFailed, WorkerDied, WorkerTimedOut, ending
from kernelwright.sandbox.frames import SETUP, Channel, ChannelClosed, ProtocolError, decode, encode
from kernelwright.sandbox.hold import stands_still
from kernelwright.sandbox.limits import Limits
from kernelwright.sandbox.process import Ending, Process

_PATIENCE_S = 1.0
_HELD_S = 5.0
_NUMBERS = 1 << 32


@dataclass(frozen=True, slots=True)
class _Spec:
    name: str
    limits: Limits
    cpus: tuple[int, ...]
    env: Mapping[str, str]
    preload: tuple[str, ...]
    pass_fds: tuple[int, ...]
    start_timeout_s: float


class Worker:
    """A process that answers calls. Made by `start`; ended by `stop`, or when it is garbage."""

    def __init__(self, spec: _Spec) -> None:
        self._spec = spec
        self._lock = threading.RLock()
        self._number = SETUP
        self._layers: Layers | None = None
        self._launch()

    @classmethod
    def start(
        cls,
        name: str,
        limits: Limits,
        cpus: tuple[int, ...] | None = None,
        env: Mapping[str, str] | None = None,
        preload: tuple[str, ...] = (),
        *,
        pass_fds: tuple[int, ...] = (),
        start_timeout_s: float = 180.0,
        wait: bool = True,
    ) -> Worker:
        """Start a worker called `name`, pinned to `cpus`, with `env` over the parent's environment.

        `preload` names modules that it imports, under its limits, before it is ready. `pass_fds`
        stay open in it under the same numbers (shared memory, say) and must stay open here for as
        long as `restart` may be called. `wait=False` returns at once; the first call then waits.
        UsageError for cores that this process may not use; EnvironmentFault if a preload cannot be
        imported; WorkerDied or WorkerTimedOut if it ends before it is ready.
        """
        cores = tuple(cpus or ())
        if sys.platform == "linux" and not set(cores) <= os.sched_getaffinity(0):
            allowed = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
            raise UsageError(f"worker '{name}' was given cores {cores}; allowed: {allowed}")
        worker = cls(_Spec(name, limits, cores, dict(env or {}), preload, pass_fds, start_timeout_s))
        if wait:
            worker.wait_ready()
        return worker

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._spec.name

    @property
    def pid(self) -> int:
        """Process id, as this process sees it."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process.alive

    @property
    def layers(self) -> Layers:
        """Which layers of confinement hold in it."""
        self.wait_ready()
        return dict(self._layers or {})

    @property
    def output(self) -> str:
        """The end of what it has printed so far, stdout and stderr together."""
        return self._process.output.text()

    def call(self, function: str, /, timeout_s: float = 30.0, **parameters: Any) -> Any:
        """Run `module:function` there with `state` and these JSON parameters; its JSON result.

        CallFailed if it raised; WorkerDied or WorkerTimedOut, after which the worker is dead until
        `restart`. TypeError if the parameters are not JSON.
        """
        request = encode((function, parameters))
        with self._lock:
            if self._layers is None:
                self.wait_ready()
            self._number = self._number % (_NUMBERS - 1) + 1
            reply = self._exchange(self._number, request, timeout_s, function)
        return self._result(reply)

    def wait_ready(self) -> None:
        """Wait until it is confined and has imported its preloads; errors as `start` raises them."""
        with self._lock:
            if self._layers is not None:
                return
            if self._process.ended is not None:
                raise self._not_running(self._process.ended)
            try:
                with self._answered("its start", self._spec.start_timeout_s):
                    reply = self._due(SETUP, self._spec.start_timeout_s)
                layers = self._result(reply)
            except CallFailed as error:
                self.stop()
                raise EnvironmentFault(f"worker '{self.name}' cannot start: {error}") from error
            self._layers = dict(layers)

    def stop(self) -> None:
        """Kill it and all its descendants. Can be called again."""
        self._process.end()

    def restart(self) -> None:
        """Replace it by a fresh process with the same limits, cores, environment and preloads."""
        with self._lock:
            self._at_end()
            self._launch()
            self.wait_ready()

    def hold(self) -> None:
        """Stop all its threads, until `resume`; returns when none runs any more.

        WorkerTimedOut if some cannot be stopped; the worker is dead then.
        """
        self._process.signal_group(signal.SIGSTOP)
        deadline = time.monotonic() + _HELD_S
        while self.alive and not stands_still(self.pid, alone=not self._spec.limits.processes):
            if time.monotonic() >= deadline:
                raise self._timed_out(_HELD_S, "being held")

    def resume(self) -> None:
        """Let it go on; nothing happens if it was not held."""
        self._process.signal_group(signal.SIGCONT)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self) -> None:
        spec = self._spec
        self._number = SETUP
        self._layers = None
        self._process = Process(environment_for(spec.limits, spec.env), spec.pass_fds, spec.limits)
        self._channel = Channel(self._process.channel, spec.limits.reply_bytes)
        self._at_end = weakref.finalize(self, self._process.end)
        setup = {"limits": asdict(spec.limits), "cpus": spec.cpus, "preload": spec.preload}
        # At once, so that workers that are started one after the other get ready side by side.
        with self._answered("its start", spec.start_timeout_s):
            self._channel.send(SETUP, encode(setup), spec.start_timeout_s)

    def _exchange(self, number: int, request: bytes, timeout_s: float, what: str) -> Any:
        """Send a frame and take the reply that is due; else end the worker and say why."""
        if self._process.ended is not None:
            raise self._not_running(self._process.ended)
        with self._answered(what, timeout_s):
            self._channel.send(number, request, timeout_s)
            return self._due(number, timeout_s)

    def _due(self, number: int, timeout_s: float) -> Any:
        """The reply to this request."""
        answered, payload = self._channel.receive(timeout_s)
        if answered != number:
            raise ProtocolError(f"a reply to call {answered} instead of {number}")
        return decode(payload)

    @contextmanager
    def _answered(self, what: str, timeout_s: float) -> Iterator[None]:
        """End the worker, and say why, if the block does not get the reply that was due."""
        finished = False
        try:
            yield
            finished = True
        except TimeoutError:
            raise self._timed_out(timeout_s, what) from None
        except ChannelClosed:
            raise self._died() from None
        except ProtocolError as error:
            raise self._broke(str(error)) from None
        finally:
            if not finished:  # an interrupt, say: the reply under way would answer the next call
                self.stop()

    def _result(self, reply: Any) -> Any:
        match reply:
            case {"ok": value}:
                return value
            case {"error": {"type": str(kind), "message": str(message), "traceback": str(trace)}}:
                raise CallFailed(kind, message, trace)
        raise self._broke("a reply that is neither a result nor an error")

    def _timed_out(self, timeout_s: float, what: str) -> WorkerTimedOut:
        end = self._process.end()
        sentence = f"worker '{self.name}' did not finish {what} within {timeout_s:g} s and was killed"
        return WorkerTimedOut(sentence, timeout_s=timeout_s, stderr=end.output)

    def _died(self) -> WorkerDied:
        end = self._process.end(_PATIENCE_S)
        how = self._how(end)
        return WorkerDied(f"worker '{self.name}' {how}", signal=end.signal, code=end.code, stderr=end.output)

    def _not_running(self, end: Ending) -> WorkerDied:
        sentence = f"worker '{self.name}' is not running; restart it"
        return WorkerDied(sentence, signal=end.signal, code=end.code, stderr=end.output)

    def _how(self, end: Ending) -> str:
        if end.crowded:
            return f"had more than {self._spec.limits.processes} child processes and was killed"
        return ending(end.signal, end.code) if end.by_itself else "closed its channel and was killed"

    def _broke(self, how: str) -> WorkerDied:
        end = self._process.end()
        sentence = f"worker '{self.name}' sent {how} and was killed"
        return WorkerDied(sentence, signal=end.signal, code=end.code, stderr=end.output)
