"""What a call can come to: a result, a failure in the function, the worker's death, too much time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.sandbox import CallFailed, Limits, Worker, WorkerDied, WorkerTimedOut

F = "sandbox_functions:"


@pytest.fixture(params=["trusted", "candidate"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    limits = Limits.trusted() if request.param == "trusted" else Limits.candidate()
    with Worker.start(request.param, limits) as worker:
        yield worker


def test_a_call_returns_json_and_keeps_state(worker: Worker) -> None:
    assert worker.call(F + "echo", a=[1, 2.5, None], b={"c": "é"}) == {"a": [1, 2.5, None], "b": {"c": "é"}}
    assert [worker.call(F + "count") for _ in range(3)] == [1, 2, 3]


def test_a_worker_that_nobody_waits_for_gets_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaves_a_mark.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()")
    monkeypatch.syspath_prepend(str(tmp_path))
    with Worker.start("side", Limits.trusted(), preload=("leaves_a_mark",), wait=False) as worker:
        deadline = time.monotonic() + 60
        while not (tmp_path / "mark").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert worker.call(F + "count") == 1


def test_a_long_request_and_a_long_reply_arrive_whole(worker: Worker) -> None:
    text = "0123456789" * 300_000
    assert worker.call(F + "echo", text=text) == {"text": text}


def test_a_failure_has_type_message_and_traceback_and_the_worker_lives(worker: Worker) -> None:
    with pytest.raises(CallFailed) as caught:
        worker.call(F + "fail", message="no such thing")
    assert (caught.value.type, caught.value.message) == ("ValueError", "no such thing")
    assert "in fail" in caught.value.traceback
    assert worker.call(F + "count") == 1


@pytest.mark.parametrize(
    ("function", "kind"),
    [("not_json", "TypeError"), ("leave", "SystemExit"), ("nothing_here", "AttributeError")],
)
def test_whatever_is_raised_is_a_failure(worker: Worker, function: str, kind: str) -> None:
    with pytest.raises(CallFailed) as caught:
        worker.call(F + function)
    assert caught.value.type == kind
    assert worker.alive


def test_parameters_that_are_not_json_leave_the_worker_alone(worker: Worker) -> None:
    with pytest.raises(TypeError):
        worker.call(F + "echo", value=object())
    assert worker.call(F + "count") == 1


def test_a_crash_says_by_which_signal(worker: Worker) -> None:
    with pytest.raises(WorkerDied) as caught:
        worker.call(F + "segfault")
    assert caught.value.signal == signal.SIGSEGV
    assert "SIGSEGV" in str(caught.value)
    assert "in segfault" in caught.value.stderr  # the interpreter's own stack, printed as it crashed
    assert not worker.alive


def test_abort_is_reported_as_abort(worker: Worker) -> None:
    with pytest.raises(WorkerDied) as caught:
        worker.call(F + "abort")
    assert caught.value.signal == signal.SIGABRT


@pytest.mark.parametrize("code", [0, 7])
def test_an_exit_says_with_which_code(worker: Worker, code: int) -> None:
    with pytest.raises(WorkerDied) as caught:
        worker.call(F + "exit_at_once", code=code)
    assert (caught.value.signal, caught.value.code) == (None, code)
    assert caught.value.stderr == "about to leave"


@pytest.mark.parametrize("function", ["loop", "hang_in_c"])
def test_a_hang_is_killed_in_time(worker: Worker, function: str) -> None:
    start = time.monotonic()
    with pytest.raises(WorkerTimedOut) as caught:
        worker.call(F + function, timeout_s=0.3)
    assert 0.3 <= time.monotonic() - start < 3
    assert caught.value.timeout_s == 0.3
    assert not worker.alive


def test_a_dead_worker_says_so_and_a_restart_is_fresh(worker: Worker) -> None:
    worker.call(F + "count")
    with pytest.raises(WorkerDied):
        worker.call(F + "exit_at_once", code=1)
    with pytest.raises(WorkerDied, match="restart it"):
        worker.call(F + "count")
    before = worker.pid
    worker.restart()
    assert worker.pid != before
    assert worker.call(F + "count") == 1


def test_an_interrupt_ends_the_worker_and_reaches_the_caller(worker: Worker) -> None:
    class Interrupt(BaseException):
        pass

    def interrupt(number: int, frame: object) -> None:
        raise Interrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Interrupt):
            worker.call(F + "loop")
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert not worker.alive


def test_a_worker_outlives_the_thread_that_started_it() -> None:
    started: list[Worker] = []
    thread = threading.Thread(target=lambda: started.append(Worker.start("t", Limits.trusted())))
    thread.start()
    thread.join()
    time.sleep(0.1)
    with started[0] as worker:
        assert worker.call(F + "count") == 1


def test_workers_start_side_by_side_when_nobody_waits() -> None:
    workers = [Worker.start(f"w{i}", Limits.trusted(), wait=False) for i in range(2)]
    assert [worker.call(F + "count") for worker in workers] == [1, 1]
    for worker in workers:
        worker.stop()


def test_a_preload_that_fails_is_a_fault_of_the_environment() -> None:
    with pytest.raises(EnvironmentFault, match="no_such_module"):
        Worker.start("w", Limits.trusted(), preload=("no_such_module",))


def test_cores_that_we_may_not_use_are_refused() -> None:
    with pytest.raises(UsageError, match="allowed"):
        Worker.start("w", Limits.trusted(), cpus=(100_000,))


def test_cores_environment_and_descriptors_are_passed() -> None:
    core = min(os.sched_getaffinity(0))
    arena = os.memfd_create("arena")
    os.ftruncate(arena, 4096)
    limits = Limits.candidate()
    with Worker.start("w", limits, cpus=(core,), env={"OMP_NUM_THREADS": "1"}, pass_fds=(arena,)) as worker:
        worker.call(F + "write_shared", handle=arena, size=4096, text="from inside")
        assert os.pread(arena, 11, 0) == b"from inside"
        assert worker.call(F + "environment")["OMP_NUM_THREADS"] == "1"
        assert worker.call(F + "affinity_after_asking", cpus=[core]) == [core]
    os.close(arena)


def test_a_held_worker_stands_still() -> None:
    with Worker.start("w", Limits.candidate()) as worker:
        worker.call(F + "spin_in_background")
        time.sleep(0.05)
        worker.hold()
        time.sleep(0.3)
        worker.resume()
        stopped = worker.call(F + "ticks")
        assert stopped < 200  # 0.3 s at 1 ms a tick would be more
        time.sleep(0.05)
        assert worker.call(F + "ticks") > stopped
