"""A log that cannot be written costs no result, whatever the streams are when a command is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from kernelwright.cli.progress import Progress

PROGRAM = """
import json, os, sys, warnings
import click
from kernelwright.cli.streams import settle_streams
settle_streams()
for number in range(3):
    os.fstat(number)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
assert file > 2, "it would be written into by whatever prints"
for text in ("plain", "\\u00e9 \\u2603 \\udcff", "x" * 100000):
    print(text, file=sys.stderr, flush=True)
    click.echo(text, err=True)
    os.isatty(sys.stderr.fileno())
warnings.warn("one")
print(json.dumps({"result": 42}), "\\u00e9 \\u2603 \\udcff", flush=True)
sys.exit(7)
"""


def shell(tmp_path: Path, streams: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = f"exec {sys.executable} {tmp_path}/program.py {tmp_path}/file {streams}"
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(["/bin/bash", "-c", command], env=own, capture_output=True, cwd=tmp_path)


@pytest.mark.parametrize(
    "streams",
    ["", "2>&-", "2>/dev/full", "2> >(exec true)", "<&- 2>&-", "2>&1 >result 2>&-"],
    ids=["open", "closed", "full", "gone", "in and log closed", "to a file"],
)
def test_the_result_comes_out_whatever_becomes_of_the_log(streams: str, tmp_path: Path) -> None:
    done = shell(tmp_path, streams)
    assert done.returncode == 7, done.stderr[-500:]
    printed = (tmp_path / "result").read_bytes() if "result" in streams else done.stdout
    assert printed.startswith(b'{"result": 42}')


@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_result_that_nobody_wants_is_let_go(streams: str, tmp_path: Path) -> None:
    assert shell(tmp_path, streams).returncode == 7


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
    ids=["ascii", "C", "latin"],
)
def test_text_of_another_alphabet_is_escaped(variables: dict[str, str], tmp_path: Path) -> None:
    done = shell(tmp_path, "", **variables)
    assert done.returncode == 7, done.stderr[-500:]
    assert b"\\u2603" in done.stdout and b"\\u2603" in done.stderr


def test_the_command_settles_them_first(tmp_path: Path) -> None:
    path = os.pathsep.join(filter(os.path.isabs, sys.path))
    own = {**os.environ, "PYTHONPATH": path, "KERNELWRIGHT_DATA": str(tmp_path)}
    command = f"{sys.executable} -m kernelwright report --json <&- 2>&-"
    done = subprocess.run(["/bin/bash", "-c", command], env=own, capture_output=True)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"runs": []})
    gone = tmp_path / "gone"
    command = f"mkdir {gone}; cd {gone}; rmdir {gone}; {sys.executable} -m kernelwright report --json"
    done = subprocess.run(["/bin/bash", "-c", command], env=own, capture_output=True)
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr == b"error: the working directory is gone; change to one that exists\n"


@pytest.mark.parametrize("columns", [0, 20, 80, 300])
def test_progress_stays_on_one_line_of_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        progress = Progress()
        for length in (250, 3, 100):
            progress.update({"stage": "gates", "message": "x" * length})
        terminal.flush()
        printed = b""
        while printed.count(b"\r") < 3 or len(printed.rpartition(b"\r")[2]) < 19:
            printed += os.read(ours, 1 << 16)
    os.close(ours)
    lines = printed.decode().split("\r")
    assert len(lines) == 4 and "gates" in lines[1]
    assert max(map(len, lines)) < (columns or 80)
