"""An interrupt waits for an import to end, but not for ever, and comes at once otherwise."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.search.interrupt import heeded

PROGRAM = """
import os, sys, time
from kernelwright.cli import interrupt
interrupt.PATIENCE_S = float(sys.argv[1])
interrupt.interruptible()
try:
    {body}
except KeyboardInterrupt:
    print("interrupted", {seen})
"""
MODULE = """
import os, time
print("ready", flush=True)
until = time.monotonic() + 1.0
while time.monotonic() < until:
    time.sleep(0.01)
whole = True
"""


def ended(
    tmp_path: Path, body: str, seen: str, number: signal.Signals, patience_s: float
) -> tuple[str, float]:
    (tmp_path / "slow_module.py").write_text(MODULE)
    text = PROGRAM.format(body=body, seen=seen)
    command = [sys.executable, "-c", text, str(patience_s)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        started = time.monotonic()
        process.send_signal(number)
        return process.stdout.read(), time.monotonic() - started


IMPORT = "import slow_module; time.sleep(30)"
WHOLE = "hasattr(sys.modules.get('slow_module'), 'whole')"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_import_is_waited_for(tmp_path: Path, number: signal.Signals) -> None:
    said, _ = ended(tmp_path, IMPORT, WHOLE, number, 10.0)
    assert said == "interrupted True\n"


def test_not_for_ever(tmp_path: Path) -> None:
    said, seconds = ended(tmp_path, IMPORT, WHOLE, signal.SIGINT, 0.2)
    assert said == "interrupted False\n" and seconds < 0.9


def test_nothing_else_is_waited_for(tmp_path: Path) -> None:
    body = "print('ready', flush=True); time.sleep(30)"
    said, seconds = ended(tmp_path, body, "True", signal.SIGTERM, 10.0)
    assert said == "interrupted True\n" and seconds < 5


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert heeded() == [signal.SIGINT, signal.SIGTERM]
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert heeded() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, before)
