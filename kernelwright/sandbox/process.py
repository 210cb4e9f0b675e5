"""A worker's operating-system process: started in a group of its own, ended with all its descendants.

Three things tie it to its parent. The kernel kills it when the thread that started it ends, so one
thread starts all workers and lives as long as the program does. The kernel also kills its whole
*group* when a pipe that only the parent holds is closed, however the parent ended. And its socket
reports the end of the stream, so an idle worker leaves by itself.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kernelwright.core.errors import EnvironmentFault
from kernelwright.sandbox.output import Output

_LEAVING_S = 0.5
_KILLED_S = 10.0
_OUTPUT_S = 1.0
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: by a signal, with an exit code, or not yet (`None` for both)."""

    signal: int | None
    exit_code: int | None
    by_itself: bool
    """Whether it had ended before it was killed."""
    output: str


class Process:
    """One running worker process."""

    def __init__(self, env: Mapping[str, str], pass_fds: Sequence[int], keep_output: int) -> None:
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
        self.output = Output(reading, keep_output)
        self._ending: Ending | None = None

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._ending is None and not self._has_ended()

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
        if self._ending is None:
            by_itself = self._wait_unreaped(patience_s)
            self.signal_group(signal.SIGKILL)  # before it is reaped: until then its number is its own
            code = self._reap()
            self.channel.close()
            os.close(self._lifeline)
            self.output.finish(_OUTPUT_S)
            self._ending = Ending(
                signal=-code if code is not None and code < 0 else None,
                exit_code=code if code is not None and code >= 0 else None,
                by_itself=by_itself,
                output=self.output.text(),
            )
        return self._ending

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
    def popen() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            env=dict(env),
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    return _starter().submit(popen).result()


_STARTERS: list[ThreadPoolExecutor] = []


def _starter() -> ThreadPoolExecutor:
    if not _STARTERS:
        _STARTERS.append(ThreadPoolExecutor(1, thread_name_prefix="kernelwright-starter"))
    return _STARTERS[0]


# A forked copy of this program has none of its threads.
os.register_at_fork(after_in_child=_STARTERS.clear)
