"""Marks of processes: of one that runs, one that has ended, one elsewhere, and what is no mark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.core.process import is_gone, this_process

SHOW = "from kernelwright.core.process import this_process; print(this_process())"


def test_this_process_is_not_gone() -> None:
    assert not is_gone(this_process())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_process_that_has_ended_is_gone_also_when_its_number_is_used_again() -> None:
    mark = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True).stdout
    host, number, started = mark.split()
    assert is_gone(mark.strip())
    assert number != str(os.getpid())
    assert is_gone(f"{host} {os.getpid()} {started}")


@pytest.mark.parametrize("mark", ["", "elsewhere 1 2", f"{socket.gethostname()} one 2", socket.gethostname()])
def test_of_what_is_not_known_here_nothing_is_said(mark: str) -> None:
    assert not is_gone(mark)
