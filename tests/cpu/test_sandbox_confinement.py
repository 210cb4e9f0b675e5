"""What a contained worker is refused, what it may still do, and what its parent may do to it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.sandbox import CallFailed, Limits, Worker
from kernelwright.sandbox.confine import LAYERS, enforced

F = "sandbox_functions:"
LAYERS_HERE = enforced()


def needs(*layers: str) -> pytest.MarkDecorator:
    lacking = [layer for layer in layers if LAYERS_HERE[layer] is not True]
    return pytest.mark.skipif(bool(lacking), reason=f"not in force here: {lacking}")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker.start("candidate", Limits.candidate()) as worker:
        yield worker


def test_every_layer_is_in_force_or_says_why_not() -> None:
    assert set(LAYERS_HERE) == set(LAYERS)
    assert all(value is True or (isinstance(value, str) and value) for value in LAYERS_HERE.values())


@needs("landlock")
def test_files_outside_scratch_cannot_be_written(worker: Worker, tmp_path: Path) -> None:
    target = tmp_path / "theirs"
    target.write_text("ours")
    assert worker.call(F + "attempt", what="write", argument=str(target)) == "PermissionError"
    assert worker.call(F + "attempt", what="write", argument=str(tmp_path / "new")) == "PermissionError"
    assert target.read_text() == "ours"
    assert worker.call(F + "attempt", what="read", argument=str(target)) == "done"
    assert worker.call(F + "attempt", what="write", argument="/dev/null") == "done"


@needs("landlock")
def test_writable_and_readable_are_lists(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder in (mine, theirs):
        folder.mkdir()
        (folder / "old").write_text("old")
    limits = Limits.candidate(writable=[mine], readable=[mine])
    with Worker.start("w", limits, preload=("json",)) as worker:
        assert worker.call(F + "attempt", what="write", argument=str(mine / "new")) == "done"
        assert worker.call(F + "attempt", what="read", argument=str(mine / "old")) == "done"
        assert worker.call(F + "attempt", what="read", argument=str(theirs / "old")) == "PermissionError"


@needs("namespaces")
def test_scratch_is_private_and_vanishes(tmp_path: Path) -> None:
    with Worker.start("w", Limits.candidate()) as worker:
        path = Path(worker.call(F + "scratch"))
        assert worker.call(F + "attempt", what="read", argument=str(path)) == "done"
        assert not path.exists()  # out here


@needs("seccomp")
def test_the_network_and_others_sockets_are_out_of_reach(worker: Worker, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        assert worker.call(F + "attempt", what="connect", argument=str(tmp_path / "s")) == "PermissionError"
    assert worker.call(F + "attempt", what="internet") == "PermissionError"


@needs("seccomp")
@pytest.mark.parametrize(
    "what",
    [
        "signal",
        "signal by a file",
        "signal by a file of a thread",
        "signal by a socket",
        "limits",
        "open_memory",
    ],
)
def test_other_processes_are_out_of_reach(worker: Worker, what: str) -> None:
    assert worker.call(F + "attempt", what=what, argument=os.getpid()) == "PermissionError"


@needs("seccomp")
def test_the_parents_memory_cannot_be_read(worker: Worker) -> None:
    block = ctypes.create_string_buffer(b"expected values")
    read = worker.call(F + "attempt_read_memory", pid=os.getpid(), address=ctypes.addressof(block))
    assert read == -1


@needs("seccomp")
@pytest.mark.parametrize("what", ["fork", "run", "unshare"])
def test_new_processes_and_namespaces_are_refused(worker: Worker, what: str) -> None:
    assert worker.call(F + "attempt", what=what) == "PermissionError"


@needs("seccomp", "namespaces")
def test_programs_run_where_processes_are_allowed() -> None:
    with Worker.start("w", Limits.candidate(processes=8)) as worker:
        assert worker.call(F + "attempt", what="run") == "done"
        assert worker.call(F + "shell_writes_scratch") == "written"
        assert worker.call(F + "attempt", what="signal", argument=os.getpid()) == "PermissionError"


@needs("seccomp")
def test_cores_cannot_be_changed_from_inside() -> None:
    cores = sorted(os.sched_getaffinity(0))
    with Worker.start("w", Limits.candidate(), cpus=(cores[0],)) as worker:
        assert worker.call(F + "affinity_after_asking", cpus=cores) == [cores[0]]


def test_a_contained_worker_sees_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("KERNELWRIGHT_DB", "postgresql://user:secret@host/db")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with Worker.start("w", Limits.candidate()) as worker:
        inside = worker.call(F + "environment")
    assert inside["OMP_NUM_THREADS"] == "3"
    assert not [name for name, value in inside.items() if "secret" in value]


def test_torch_with_threads_runs_contained() -> None:
    pytest.importorskip("torch")
    with Worker.start("w", Limits.candidate(), preload=("torch",)) as worker:
        assert worker.call(F + "torch_product", threads=2) == 256.0**3


READ_A_WORKER = """
import ctypes
from kernelwright.sandbox import Limits, Worker, CallFailed

class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

for limits in (Limits.candidate(), Limits.candidate(processes=4), Limits.trusted()):
    with Worker.start("w", limits) as worker:
        if limits.contained:
            worker.call("sandbox_functions:hide_memory")
        address, length = worker.call("sandbox_functions:own_buffer", text="sampled from outside")
        block = ctypes.create_string_buffer(length)
        here, there = Vector(ctypes.addressof(block), length), Vector(address, length)
        libc = ctypes.CDLL(None)
        read = libc.process_vm_readv(worker.pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        print(read, block.raw.decode())
"""


def read_a_worker(python: str, user: int | None) -> list[str]:
    path = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
    done = subprocess.run(
        [python, "-c", READ_A_WORKER],
        env={"PYTHONPATH": os.pathsep.join(path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        user=user,
        cwd="/",
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@needs("seccomp", "namespaces")
def test_the_parent_reads_its_workers_memory_whatever_they_do() -> None:
    assert read_a_worker(sys.executable, None) == ["20 sampled from outside"] * 3


def _system_python_of_an_ordinary_user() -> str | None:
    """A Python that user 65534 can start and that can read this source tree."""
    wanted = f"import sys; sys.exit(sys.version_info < (3, 10) or not open({__file__!r}))"
    for python in (os.path.realpath(getattr(sys, "_base_executable", sys.executable)), "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            if (
                subprocess.run([python, "-c", wanted], user=65534, capture_output=True, cwd="/").returncode
                == 0
            ):
                return python
    return None


@needs("seccomp", "namespaces")
@pytest.mark.skipif(os.geteuid() != 0, reason="the test beside it is run by an ordinary user already")
def test_an_ordinary_user_reads_its_workers_memory_too() -> None:
    python = _system_python_of_an_ordinary_user()
    if python is None:
        pytest.skip("no Python that an ordinary user can start")
    assert read_a_worker(python, 65534) == ["20 sampled from outside"] * 3


def test_a_failing_function_in_a_contained_worker_is_only_a_failure(worker: Worker) -> None:
    with pytest.raises(CallFailed):
        worker.call(F + "fail", message="x")
    assert worker.alive
