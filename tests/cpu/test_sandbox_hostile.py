"""Workers that bomb, flood, forge and linger: the parent neither hangs nor leaks, and nothing is left."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelwright.sandbox import CallFailed, Limits, Worker, WorkerDied, WorkerFailure, WorkerTimedOut
from kernelwright.sandbox.confine import enforced
from kernelwright.sandbox.limits import GIB, MIB

F = "sandbox_functions:"
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
needs_namespaces = pytest.mark.skipif(enforced()["namespaces"] is not True, reason="no user namespaces here")
needs_seccomp = pytest.mark.skipif(enforced()["seccomp"] is not True, reason="no seccomp here")


@contextlib.contextmanager
def candidate(**limits: int) -> Iterator[Worker]:
    with Worker.start("candidate", Limits.candidate(**limits)) as worker:  # type: ignore[arg-type]
        yield worker


def state_of(pid: int) -> str | None:
    """One letter from /proc, or None where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def runs(pid: int) -> bool:
    return state_of(pid) not in (None, "Z", "X")


def soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 5
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def members_of(group: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] not in "ZX":
                found.append(int(name))
    return found


def test_a_memory_bomb_is_a_memory_error_in_the_worker() -> None:
    with candidate(memory_bytes=GIB) as worker:
        assert worker.call(F + "allocate", size=256 * MIB) == 256 * MIB
        with pytest.raises(CallFailed) as caught:
            worker.call(F + "allocate", size=2 * GIB)
        assert caught.value.type == "MemoryError"
        with pytest.raises(CallFailed):
            worker.call(F + "allocate_shared", size=64 * GIB)
        assert worker.alive


@needs_seccomp
@linux
def test_a_fork_bomb_makes_no_process_where_none_is_allowed() -> None:
    with candidate() as worker:
        assert worker.call(F + "fork_many", most=3) == 0
        with pytest.raises(WorkerTimedOut):
            worker.call(F + "fork_bomb", timeout_s=0.5)
        assert soon(lambda: not members_of(worker.pid))


@needs_seccomp
@linux
def test_a_bomb_of_forking_forks_is_wiped_out() -> None:
    with candidate(processes=4) as worker:
        with pytest.raises(WorkerFailure):
            worker.call(F + "fork_bomb", timeout_s=2)
        assert soon(lambda: not members_of(worker.pid))


@needs_namespaces
@needs_seccomp
@linux
def test_a_fork_bomb_is_bounded_and_wiped_out_where_processes_are_allowed() -> None:
    with candidate(processes=4) as worker:
        try:  # the kernel's own limit, which spares root
            assert 4 <= worker.call(F + "fork_many", most=20_000, timeout_s=20) < 500
        except WorkerDied as death:
            assert "more than 4 child processes" in death.sentence
        assert soon(lambda: not members_of(worker.pid))


def test_a_flood_of_output_is_drained_and_only_its_end_kept() -> None:
    with candidate() as worker:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        worker.call(F + "print_much", size=300_000_000, timeout_s=60)
        assert soon(lambda: worker.output.endswith("the last line"))
        assert len(worker.output) <= Limits.candidate().output_bytes
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 * MIB
        assert worker.call(F + "count") == 1


def test_an_honest_reply_that_is_too_long_is_a_failure() -> None:
    with candidate() as worker:
        with pytest.raises(CallFailed, match="at most"):
            worker.call(F + "big_reply", size=Limits.candidate().reply_bytes + 1)
        assert worker.call(F + "count") == 1


FORGERIES = {
    "not json": {"payload": "{", "number": None, "length": None},
    "not a reply": {"payload": "[1, 2]", "number": None, "length": None},
    "half an error": {"payload": '{"error": {"type": 3}}', "number": None, "length": None},
    "another call's": {"payload": '{"ok": 1}', "number": 77, "length": None},
    "gigantic": {"payload": "", "number": None, "length": 0xFFFFFFFF},
    "nested": {"payload": "[" * 200_000, "number": None, "length": None},
    "followed by more": {"payload": '{"ok": 1} and more', "number": None, "length": 9},
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_reply_ends_the_worker(forgery: dict[str, object]) -> None:
    with candidate() as worker:
        with pytest.raises(WorkerDied, match="sent"):
            worker.call(F + "forge", timeout_s=10, **forgery)
        assert not worker.alive


def test_a_reply_before_the_reply_does_not_answer_the_next_call() -> None:
    with candidate() as worker, pytest.raises(WorkerFailure):
        worker.call(F + "forge_twice")
        worker.call(F + "count")


def test_a_truncated_header_and_a_dribble_end_with_the_limit() -> None:
    for function, parameters in (("forge_raw", {"data": "010203"}), ("dribble", {})):
        with candidate() as worker:
            start = time.monotonic()
            with pytest.raises(WorkerTimedOut):
                worker.call(F + function, timeout_s=0.4, **parameters)
            assert time.monotonic() - start < 3


def test_closing_all_descriptors_is_a_death_and_not_a_hang() -> None:
    with candidate() as worker:
        start = time.monotonic()
        with pytest.raises(WorkerDied, match="closed its channel"):
            worker.call(F + "close_everything", timeout_s=20)
        assert time.monotonic() - start < 5
        assert not worker.alive


@linux
def test_children_left_behind_are_killed_with_their_worker() -> None:
    with Worker.start("w", Limits.trusted()) as worker:
        child = worker.call(F + "start_sleeper", new_session=False)
        assert runs(child)
    assert soon(lambda: not runs(child))


@needs_namespaces
@needs_seccomp
@linux
def test_a_contained_child_cannot_leave_the_group() -> None:
    with candidate(processes=8) as worker:
        child = worker.call(F + "start_sleeper", new_session=True)
        assert worker.call(F + "group", pid=child) == worker.pid
    assert soon(lambda: not runs(child))


@linux
def test_many_lives_leave_no_descriptor_no_zombie_and_no_file() -> None:
    def one_life() -> int:
        with candidate() as worker:
            worker.call(F + "scratch")
            with pytest.raises(WorkerDied):
                worker.call(F + "segfault")
            worker.restart()
            return worker.pid

    one_life()
    before = [sorted(os.listdir(place)) for place in ("/proc/self/fd", "/dev/shm")]
    pids = [one_life() for _ in range(4)]
    assert soon(lambda: [sorted(os.listdir(place)) for place in ("/proc/self/fd", "/dev/shm")] == before)
    assert [state_of(pid) for pid in pids] == [None] * 4


PARENT = """
import sys, time
from kernelwright.sandbox import Limits, Worker, WorkerFailure
F = "sandbox_functions:"
idle = Worker.start("idle", Limits.trusted())
child = idle.call(F + "start_sleeper", new_session=False)
deaf = Worker.start("deaf", Limits.candidate())
try:
    deaf.call(F + "echo", a=1)
finally:
    print(idle.pid, child, deaf.pid, flush=True)
deaf.call(F + sys.argv[1], timeout_s=60)
"""


@linux
@needs_seccomp
@pytest.mark.parametrize("busy_with", ["hang_in_c", "close_everything", "cut_the_lifeline"])
def test_workers_and_their_children_die_with_a_parent_that_is_killed(busy_with: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, busy_with],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    time.sleep(0.1)
    assert len(pids) == 3
    assert all(map(runs, pids))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert soon(lambda: not any(map(runs, pids)))


@linux
def test_workers_die_with_a_parent_that_simply_ends() -> None:
    script = PARENT.replace("deaf.call(F + sys.argv[1], timeout_s=60)", "")
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert soon(lambda: not any(map(runs, map(int, done.stdout.split()))))


FORKING = """
import os, time
from kernelwright.sandbox import Limits, Worker
worker = Worker.start("w", Limits.trusted())
copy = os.fork()
if copy == 0:
    del worker
    time.sleep(30)
    os._exit(0)
print(worker.pid, copy, flush=True)
worker.call("sandbox_functions:hang_in_c", timeout_s=60)
"""


@linux
def test_a_forked_copy_of_the_parent_neither_kills_nor_keeps_its_workers() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    worker, copy = (int(word) for word in parent.stdout.readline().split())
    time.sleep(0.3)
    assert runs(worker)  # the copy has dropped its Worker, and that changed nothing
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert soon(lambda: not runs(worker))
    assert runs(copy)
    os.kill(copy, signal.SIGKILL)
