"""Many writers, killed writers, full and read-only disks, foreign files: no reported trial is lost."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store_writer import run, trial

from kernelwright.core.errors import StoreError, UsageError
from kernelwright.store import open_store

KINDS = ["sqlite:///{}/trials.db", "jsonl://{}/trials.jsonl"]
WRITER = str(Path(__file__).with_name("store_writer.py"))


@pytest.fixture(params=KINDS, ids=["sqlite", "jsonl"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def writer(url: str, count: int, size: int = 100) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WRITER, url, str(count), str(size)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kept(url: str) -> set[str]:
    with open_store(url) as store:
        return {made.id for made in store.trials()}


def test_eight_writers_at_once_lose_nothing(kind: str, tmp_path: Path) -> None:
    url = kind.format(tmp_path)
    writers = [writer(url, 50) for _ in range(8)]
    outputs = [process.communicate(timeout=120) for process in writers]
    assert [process.returncode for process in writers] == [0] * 8, outputs
    reported = {id for output, _ in outputs for id in output.split()}
    assert len(reported) == 400
    assert kept(url) == reported
    with open_store(url) as store:
        assert len(store.runs()) == 8


def test_writers_that_are_killed_lose_nothing_that_was_reported(kind: str, tmp_path: Path) -> None:
    url = kind.format(tmp_path)
    reported: set[str] = set()
    for after in (1, 15):
        processes = [writer(url, 10_000, size=20_000) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            reported |= {process.stdout.readline().strip() for _ in range(after)}
            process.send_signal(signal.SIGKILL)
        for process in processes:
            rest, _ = process.communicate()
            # A last line that was cut short by the kill reports nothing.
            reported |= {line for line in rest.split() if len(line) == len("t-") + 12}
    assert len(reported) >= 32
    assert reported <= kept(url)
    after_all = writer(url, 1)
    assert after_all.communicate(timeout=60)[1] == ""  # it goes on
    assert after_all.returncode == 0


def test_a_torn_last_line_is_skipped_and_then_removed(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    mine, first, second = run(), trial(run()), trial(run())
    with open_store(f"jsonl://{path}") as store:
        store.add_run(mine)
        store.add_trial(first)
    whole = path.read_bytes()
    for torn in (b'{"schema":1,"kind":"tri', b"\x00" * 100, b"{"):
        path.write_bytes(whole + torn)
        with open_store(f"jsonl://{path}") as store:
            assert list(store.trials()) == [first]
            store.add_trial(second)
            assert list(store.trials()) == [first, second]
        assert path.read_bytes().startswith(whole + b'{"schema"')
        assert torn not in path.read_bytes().splitlines()


def test_a_last_line_without_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    first, second = trial(run()), trial(run())
    with open_store(f"jsonl://{path}") as store:
        store.add_trial(first)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with open_store(f"jsonl://{path}") as store:
        assert list(store.trials()) == [first]
        store.add_trial(second)
        assert list(store.trials()) == [first, second]
    assert path.read_bytes().count(b"\n") == 2


def test_a_file_that_is_cut_off_under_an_open_store_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    made = trial(run())
    with open_store(f"jsonl://{path}") as store:
        store.add_trial(made)
        path.write_bytes(b"")
        assert list(store.trials()) == []
        assert store.add_trial(made)
        assert list(store.trials()) == [made]


@contextlib.contextmanager
def small_disk(place: Path, size: str = "600k") -> Iterator[Path]:
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "t", place], capture_output=True
    ).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_one_line_and_keeps_what_was_reported(kind: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        url = kind.format(disk)
        reported = []
        with open_store(url) as store, pytest.raises(StoreError) as caught:
            for _ in range(1000):
                made = trial(run(), text="x" * 20_000)
                store.add_trial(made)
                reported.append(made.id)
        assert "cannot be written" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert reported
        assert set(reported) <= kept(url)


def test_a_limit_on_file_size_is_one_line_too(kind: str, tmp_path: Path) -> None:
    url = kind.format(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", LIMITED, url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)),
    )
    output, errors = process.communicate(timeout=60)
    *reported, last = output.splitlines()
    assert last.startswith("StoreError: the trial store"), errors
    assert reported
    assert set(reported) <= kept(url)


LIMITED = """
import sys
from kernelwright.core.errors import StoreError
from store_writer import main
try:
    main(sys.argv[1], 1000, 20_000)
except StoreError as error:
    print("StoreError:", error)
"""


def test_a_read_only_store_is_read_and_not_written(kind: str, tmp_path: Path) -> None:
    made = trial(run())
    with small_disk(tmp_path / "disk", "8m") as disk:
        url = kind.format(disk)
        with open_store(url) as store:
            store.add_trial(made)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with open_store(url) as store:
            assert list(store.trials()) == [made]
            with pytest.raises(StoreError, match="cannot be written"):
                store.add_trial(trial(run()))
        with pytest.raises(StoreError), open_store(kind.format(disk / "new")) as store:
            store.add_trial(made)


def test_what_is_no_store_is_refused_and_left_alone(kind: str, tmp_path: Path) -> None:
    path = Path(kind.format(tmp_path).partition("://")[2].replace("//", "/"))
    path.write_bytes(b"my thesis, chapter one\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError), open_store(kind.format(tmp_path)) as store:
        store.add_trial(trial(run()))
    assert path.read_bytes() == before


def test_a_directory_in_the_place_of_a_store_is_refused(kind: str, tmp_path: Path) -> None:
    path = Path(kind.format(tmp_path).partition("://")[2].replace("//", "/"))
    path.mkdir()
    with pytest.raises(StoreError), open_store(kind.format(tmp_path)) as store:
        store.add_trial(trial(run()))


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"]
)
def test_a_pipe_or_a_device_in_the_place_of_a_ledger_is_refused(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "trials.jsonl"
    make(path)
    with pytest.raises(StoreError, match="is a directory, a pipe or a device"):
        open_store(f"jsonl://{path}")


def test_a_newer_store_is_refused_by_name(tmp_path: Path) -> None:
    ledger = tmp_path / "l.jsonl"
    ledger.write_text('{"schema":99,"kind":"trial","id":"t-1","document":{}}\n')
    with pytest.raises(StoreError, match="newer"):
        open_store(f"jsonl://{ledger}")
    url = f"sqlite:///{tmp_path}/t.db"
    open_store(url).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("UPDATE kernelwright_schema SET version = 99")
    with pytest.raises(StoreError, match="newer"):
        open_store(url)


def test_a_record_that_cannot_be_read_says_which(tmp_path: Path) -> None:
    ledger = tmp_path / "l.jsonl"
    ledger.write_text('{"schema":1,"kind":"trial","id":"t-1","document":{"nonsense":1}}\n')
    with open_store(f"jsonl://{ledger}") as store, pytest.raises(StoreError, match="byte 0"):
        store.trial("t-1")


@pytest.mark.parametrize("url", ["not a url", "nosuchdatabase://x/y"])
def test_a_bad_url_is_one_line(url: str) -> None:
    with pytest.raises((UsageError, StoreError)) as caught:
        open_store(url)
    assert "\n" not in str(caught.value)


def test_a_password_is_never_shown() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql+nodriver://user:secret@host/db")
    assert "secret" not in str(caught.value)


def test_sqlite_commits_are_synchronized(tmp_path: Path) -> None:
    from kernelwright.store.connection import connect

    engine = connect(f"sqlite:///{tmp_path}/t.db")
    with engine.connect() as connection:
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        ]
    engine.dispose()
    assert settings == ["wal", 2]
