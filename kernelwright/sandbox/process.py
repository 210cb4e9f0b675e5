"""A worker's operating-system process: started in a group of its own, ended with all its descendants.

Two things tie it to its parent. Its socket reports the end of the stream, so an idle worker leaves by
itself. And the kernel kills its whole *group* when the lifeline closes, a pipe that only the parent
can write to: however the parent ends, and whatever the worker is busy with. (The kernel's own "parent
death signal" would not do: it comes when the *thread* that started the worker ends, and spares
descendants.) The filter of `seccomp` keeps a contained worker from touching its end of the lifeline.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.core.errors import EnvironmentFault
from kernelwright.sandbox.headcount import Headcount
from kernelwright.sandbox.limits import Limits
from kernelwright.sandbox.output import Output

_LEAVING_S = 0.5
_KILLED_S = 10.0
_OUTPUT_S = 1.0
_BUFFER_BYTES = 1 << 20
_OPEN: weakref.WeakSet[Process] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: by a signal, with an exit code, or not yet (`None` for both)."""

    signal: int | None
    code: int | None
    by_itself: bool
    """Whether it had ended before it was killed."""
    crowded: bool
    """Whether it was killed for having too many child processes."""
    output: str


class Process:
    """One running worker process."""

    def __init__(self, env: Mapping[str, str], pass_fds: Sequence[int], limits: Limits) -> None:
        self.channel, theirs = _socket_pair()
        lifeline, self._lifeline = os.pipe()
        reading, writing = os.pipe()
        inside = (theirs.fileno(), lifeline)
        try:
            self._popen = _start(_command(*inside), env, (*inside, *pass_fds), writing)
        except OSError as error:
            self.channel.close()
            os.close(self._lifeline)
            os.close(reading)
            raise EnvironmentFault(f"a worker process cannot be started: {error}") from error
        finally:
            theirs.close()
            os.close(lifeline)
            os.close(writing)
        self.pid = self._popen.pid
        self.output = Output(reading, limits.output_bytes)
        self._headcount = self._watched(limits)
        self._ending: Ending | None = None
        self._closing = threading.RLock()
        _OPEN.add(self)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._ending is None and not self._has_ended()

    @property
    def ended(self) -> Ending | None:
        """How it ended, once `end` has been called."""
        return self._ending

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and all its descendants."""
        if self._ending is None:
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                return

    def end(self, patience_s: float = 0.0) -> Ending:
        """Kill what is left of the group, wait for it, close everything; can be called again.

        `patience_s`: how long the process may take to end by itself first, so that its own signal
        or exit code is reported.
        """
        with self._closing:
            if self._ending is None:
                self._ending = self._ended(patience_s)
        return self._ending

    def _ended(self, patience_s: float) -> Ending:
        by_itself = self._wait_unreaped(patience_s)
        if self._headcount is not None:
            self._headcount.stop()
        self.signal_group(signal.SIGKILL)  # before it is reaped: until then its number is its own
        code = self._reap()
        self.channel.close()
        os.close(self._lifeline)
        self.output.finish(_OUTPUT_S)
        return Ending(
            signal=-code if code is not None and code < 0 else None,
            code=code if code is not None and code >= 0 else None,
            by_itself=by_itself,
            crowded=self._headcount is not None and self._headcount.exceeded,
            output=self.output.text(),
        )

    def forget(self) -> None:
        """In a forked copy of the parent: let go, so that the worker still ends with the original."""
        self._ending = Ending(None, None, by_itself=False, crowded=False, output="")
        self.channel.close()
        os.close(self._lifeline)

    def _watched(self, limits: Limits) -> Headcount | None:
        if not limits.contained or not limits.processes:
            return None
        this = weakref.ref(self)

        def kill() -> None:
            if (process := this()) is not None:
                process.signal_group(signal.SIGKILL)

        return Headcount(self.pid, limits.processes, kill)

    def _wait_unreaped(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while not self._has_ended():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        return True

    def _has_ended(self) -> bool:
        if self._popen.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _reap(self) -> int | None:
        try:
            return self._popen.wait(_KILLED_S)
        except subprocess.TimeoutExpired:  # stuck in the kernel, in a driver say; it dies when that returns
            return None


def die_with_lifeline(lifeline: int) -> None:
    """In the worker: have the kernel kill this process group when the parent's end closes."""
    os.set_inheritable(lifeline, False)
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
    return ours, theirs


def _command(channel: int, lifeline: int) -> list[str]:
    # Not `-m`: that would put the current directory, with whatever lies there, before the library.
    path = [os.path.abspath(entry) for entry in sys.path]
    start = (
        f"import sys; sys.path[:] = {path!r}; "
        f"from kernelwright.sandbox.main import main; main({channel}, {lifeline}, {os.getpid()})"
    )
    return [sys.executable, "-c", start]


def _start(
    command: list[str], env: Mapping[str, str], fds: Sequence[int], output: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=dict(env),
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def _forget_all() -> None:
    for process in list(_OPEN):
        if process.ended is None:
            process.forget()


os.register_at_fork(after_in_child=_forget_all)
