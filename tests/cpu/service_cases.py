"""What tests of the verdict service share: problems, kernels, a server that can be killed, clients."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kernelwright.core.kernel import Source
from kernelwright.service.client import Client

HERE = Path(__file__).parent
PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1.0

n = 4096

def get_inputs():
    return [torch.randn(n)]

def get_init_inputs():
    return []
"""


def source(name: str, does: str = "") -> tuple[Source, ...]:
    """A kernel that builds at once (nothing of it is compiled) and whose desk does what is said."""
    text = f"# case {name} {does}\nimport torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
    return (Source(path="model_new.py", text=text),)


class Server:
    """A process that serves, with a folder for all that it keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str]
        self.start()

    def start(self) -> None:
        path = os.pathsep.join([str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "SERVICE_DESK": str(self.folder)}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "service_server.py"), str(self.folder)],
            stderr=subprocess.PIPE, text=True, env=env, cwd=self.folder,
        )  # fmt: skip
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        assert said.startswith("serving verdicts at http://127.0.0.1:"), said
        self.url = said.split()[-1]
        self.client = Client(self.url)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def end(self, number: signal.Signals) -> int:
        """Send a signal, wait until all that works for the service is gone; the exit code.

        Two agents of Ray's stay for up to a minute after a kill; they hold nothing.
        """
        self.process.send_signal(number)
        code = self.process.wait(60)
        assert self.process.stderr is not None
        self.process.stderr.close()
        eventually(lambda: not self._working())
        return code

    def _working(self) -> list[str]:
        """Titles of processes with this server's environment, Ray's agents left out."""
        mark = f"SERVICE_DESK={self.folder}\0"
        found = [entry for entry in Path("/proc").glob("[0-9]*") if mark in _read(entry / "environ")]
        titles = [_read(entry / "cmdline") for entry in found]
        return [title for title in titles if title and "Agent" not in title]

    def judged(self) -> list[str]:
        """Names of kernels in the order in which they were judged."""
        log = self.folder / "judged"
        return log.read_text().split() if log.exists() else []

    def child(self, title: str) -> int:
        """Number of the process of this server that has a title."""
        wanted = re.compile(title)
        for entry in Path("/proc").iterdir():
            if (
                entry.name.isdigit()
                and wanted.match(_read(entry / "cmdline"))
                and self._ours(int(entry.name))
            ):
                return int(entry.name)
        raise AssertionError(f"no process {title}")

    def _ours(self, pid: int) -> bool:
        while pid > 1:
            if pid == self.process.pid:
                return True
            fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
            pid = int(fields[1]) if fields else 0
        return False


def eventually(holds: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""
