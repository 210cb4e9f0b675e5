"""`benchmarks.remains`: what workers leave behind is seen, and nothing is seen where nothing is left."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import remains
from benchmarks.remains import Remains


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remains, "PATIENCE_S", 0.2)


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)


def test_nothing_is_left_where_nothing_was_done(tmp_path: Path) -> None:
    before = Remains(tmp_path)
    before.settled()
    before.settled()
    found = before.found()
    assert {name: found[name] for name in ("processes", "files", "shared_memory", "locks")} == {
        "processes": [], "files": [], "shared_memory": [], "locks": [],
    }  # fmt: skip
    assert (found["descriptors"], found["mounts_changed"]) == (0, False)
    assert found["memory_grew_mib"] < 1


def test_a_child_that_runs_and_one_that_nobody_waited_for_are_left(tmp_path: Path) -> None:
    before = Remains(tmp_path)
    with sleeper() as child:
        try:
            assert any(str(child.pid) in line for line in before.found()["processes"])
        finally:
            child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert [line.split()[-1] for line in before.found()["processes"]] == ["Z"]
    assert before.found()["processes"] == []


def test_a_grandchild_in_the_group_of_a_watched_worker_is_left(tmp_path: Path) -> None:
    script = "import subprocess, sys; print(subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL).pid)"
    before = Remains(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as worker:
        grandchild = int(worker.communicate()[0])
    try:
        assert before.found()["processes"] == []
        before.watch(worker.pid)
        assert any(line.startswith(f"{grandchild} ") for line in before.found()["processes"])
    finally:
        os.kill(grandchild, 9)


def test_files_shared_memory_locks_and_descriptors_are_left(tmp_path: Path) -> None:
    before = Remains(tmp_path)
    shared = Path("/dev/shm") / f"kernelwright-test-{os.getpid()}"
    shared.touch()
    try:
        with (tmp_path / "scratch").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            found = before.found()
    finally:
        shared.unlink()
    assert found["files"] == ["scratch"]
    assert shared.name in found["shared_memory"]
    assert len(found["locks"]) == 1
    assert found["descriptors"] > 0


def test_memory_that_grows_from_bench_to_bench_is_seen(tmp_path: Path) -> None:
    before, kept = Remains(tmp_path), []
    for _ in range(6):
        kept.append(b"x" * (40 << 20))  # more than an allocator keeps to use again
        before.settled()
    assert before.found()["memory_grew_mib"] > 60
