"""Run the command line as a user does, in this process or in one of its own, and look at what it leaves."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.cli.main import main
from kernelwright.core.config import cache_dir
from kernelwright.core.target import Target
from kernelwright.execute.native import compiled
from kernelwright.measure.ceilings import ceilings
from kernelwright.store import open_store
from kernelwright.store.base import TrialStore

COMMAND = str(Path(__file__).with_name("bad_input_command.py"))
CHEATS = Path(__file__).parents[1] / "cheats"
SMALL = """import torch
import torch.nn as nn

rows, columns = 64, 256


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
"""


def cache_of_these_tests(base: Path) -> Path:
    """A cache directory that may be damaged. What takes long to make is copied from the user's own."""
    place = base / "bad_input_cache"
    if not place.exists():
        ceilings(Target.parse("cpu"))
        compiled()
        for name in ("ceilings", "launcher"):
            shutil.copytree(cache_dir() / name, place / name)
    return place


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that says what is wrong."""
        (line,) = [line for line in self.err.splitlines() if line.startswith("error: ")]
        return line.removeprefix("error: ")


def call(*arguments: str | Path) -> Done:
    """Run a command in this process. Whatever it raises besides its exit code passes."""
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    before = signal.getsignal(signal.SIGTERM)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    signal.signal(signal.SIGTERM, before)
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


def refused(done: Done, code: int, *words: str) -> None:
    """One line with these words, this exit code, nothing on stdout, no traceback."""
    assert (done.code, done.out) == (code, ""), done
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.error


class Command:
    """A command in a session of its own, with its own scratch directory."""

    def __init__(self, place: Path, cache: Path, *arguments: str | Path) -> None:
        self.place = place
        self.scratch = place / "tmp"
        self.scratch.mkdir(parents=True, exist_ok=True)
        own = {"KERNELWRIGHT_DATA": str(place), "KERNELWRIGHT_CACHE": str(cache), "TMPDIR": str(self.scratch)}
        self.process = subprocess.Popen(
            [sys.executable, COMMAND, *map(str, arguments)],
            env={**os.environ, **own, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until(self, stage: str) -> None:
        """Wait for the progress line of a stage."""
        assert self.process.stderr is not None
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if line.split()[1:2] == [stage]:
                return
        raise AssertionError(f"it ended before '{stage}': {''.join(seen)}")

    def descendants(self) -> set[int]:
        """All processes below it."""
        parents = dict(_parents())
        below = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in below} - below:
            below |= more
        return below - {self.process.pid}

    def end(self, number: signal.Signals | None = None, timeout_s: float = 60.0) -> Done:
        """Send a signal to the whole group, as a terminal does, if one is given, and wait for the end."""
        if number is not None:
            os.killpg(self.process.pid, number)
        out, err = self.process.communicate(timeout=timeout_s)
        return Done(self.process.returncode, out, err)

    def store(self) -> TrialStore:
        """Its store."""
        return open_store(f"sqlite:///{self.place / 'trials.db'}")


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                if after_name[0] != "Z":
                    yield int(entry.name), int(after_name[1])


def gone(pids: set[int], within_s: float = 5.0) -> bool:
    """Whether these processes end soon."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not pids & {pid for pid, _ in _parents()}:
            return True
        time.sleep(0.05)
    return False


def leftovers(*places: Path) -> list[str]:
    """Files that a run should have taken away: scratch, half-made entries."""
    names = [path for place in places for path in place.rglob("*")]
    return [str(path) for path in names if path.name.startswith((".work-", "tmp")) or path.suffix == ".part"]
