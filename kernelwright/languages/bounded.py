"""Run a compiler under limits: wall clock, memory, file size, its whole process group killed.

The limits are set by the shell that becomes the compiler, so that all its children inherit them
and no Python code runs between fork and exec. What the tool prints goes to a file, so that no
amount of it can block the tool or fill our memory.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import EnvironmentFault

COMPILE_SECONDS = 120.0
"""Wall clock for one run of a compiler."""
ROOM_BYTES = 1 << 20
"""Less free space than this explains a compiler's failure."""
LOG_BYTES = 1 << 20
"""What is kept of a tool's output; real compiler errors are far shorter."""
FILE_BYTES = 1 << 30
PASSED_ON = ("PATH", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CUDA_HOME", "CUDA_PATH")
"""Environment that a tool sees; search paths such as CPATH would open includes that are not allowed."""


@dataclass(frozen=True)
class Ended:
    """How a tool ended."""

    code: int
    """Exit code; negative is a signal."""
    output: str
    timed_out: bool

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with success."""
        return self.code == 0 and not self.timed_out


def run_bounded(
    argv: Sequence[str],
    folder: Path,
    *,
    seconds: float | None = None,
    memory_bytes: int = 4 << 30,
    settings: Mapping[str, str] | None = None,
) -> Ended:
    """Run `argv` in `folder` with nothing on stdin; returns its stdout and stderr as one text.

    `settings` are environment variables of the tool's own; `seconds` is `COMPILE_SECONDS` if not given.
    EnvironmentFault where it cannot be started, or failed on a disk that has no room left.
    """
    seconds = COMPILE_SECONDS if seconds is None else seconds
    limits = {"c": 0, "v": memory_bytes >> 10, "f": FILE_BYTES >> 9, "t": int(seconds) + 1}
    ulimits = "; ".join(f"ulimit -{letter} {value} 2>/dev/null" for letter, value in limits.items())
    command = ["/bin/sh", "-c", f"{ulimits}; exec {shlex.join(argv)}"]
    with open(folder / "kw_tool.log", "w+b") as log:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**_environment(folder), **(settings or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise EnvironmentFault(f"cannot start {argv[0]}: {error.strerror}; is /bin/sh there?") from error
        timed_out = not _ended_within(process, seconds)
        log.seek(0)
        text = log.read(LOG_BYTES + 1)
    if process.returncode:
        require_room(folder)
    return Ended(process.returncode, _told(text, timed_out, seconds), timed_out)


def require_room(folder: Path) -> None:
    """EnvironmentFault where the disk is so full that no compiler's failure there says anything."""
    free = shutil.disk_usage(folder).free
    if free < ROOM_BYTES:
        raise EnvironmentFault(
            f"only {free >> 10} KiB are free in {folder.parent}, too few to compile in; "
            "free space there or set KERNELWRIGHT_CACHE"
        )


def _ended_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _told(data: bytes, timed_out: bool, seconds: float) -> str:
    text = data[:LOG_BYTES].decode("utf-8", "replace")
    if len(data) > LOG_BYTES:
        text += f"\n[the compiler printed more than {LOG_BYTES} bytes; the rest was dropped]\n"
    if timed_out:
        text += f"\n[stopped: compiling took longer than {seconds:g} s]\n"
    return text


def _environment(folder: Path) -> dict[str, str]:
    passed = {name: _absolute(os.environ[name]) for name in PASSED_ON if name in os.environ}
    return {**passed, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}


def _absolute(paths: str) -> str:
    """A list of paths that means the same in another working directory, where a candidate's files lie."""
    return os.pathsep.join(os.path.abspath(entry) for entry in paths.split(os.pathsep) if entry)


def python_script(path: Path) -> list[str]:
    """A command that runs the script at `path` with this interpreter.

    Neither the script's folder (whose modules are called as those it imports) nor the working
    directory (where a candidate's sources lie) is on its import path.
    """
    start = (
        "import runpy, sys; sys.path[:] = [entry for entry in sys.path if entry]; "
        "runpy.run_path(sys.argv[1], run_name='__main__')"
    )
    return [sys.executable, "-c", start, str(path)]
