"""The build cache under damage, competition, murder, and a disk that says no."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from languages_cases import CPU, SCALE, cpp, executable

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Build
from kernelwright.languages import build, cache

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path / "cache" / "builds"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """A compiler that counts how often it is asked to compile."""
    log = tmp_path / "runs"
    log.touch()
    text = f'#!/bin/sh\ncase "$*" in *-S*) echo x >> {log};; esac\nexec g++ "$@"\n'
    monkeypatch.setenv("CXX", str(executable(tmp_path / "counting", text)))
    return lambda: len(log.read_text().split())


def test_a_hit_runs_no_compiler(runs: Callable[[], int]) -> None:
    first, second = build(cpp(), CPU), build(cpp(), CPU)
    assert runs() == 1
    assert (first.cached, second.cached) == (False, True)
    assert second.seconds == 0.0 and second.artifact == first.artifact and first.tool == second.tool


def test_a_failed_build_is_kept_with_its_log(runs: Callable[[], int]) -> None:
    broken = cpp(SCALE.replace("x[i]", "x[i"))
    first, second = build(broken, CPU), build(broken, CPU)
    assert runs() == 1 and second.cached
    assert first.status == second.status == "failed" and first.log == second.log != ""


def test_what_does_not_change_the_code_does_not_build_again(runs: Callable[[], int]) -> None:
    build(cpp(), CPU)
    other = cpp(domain="n >= 1").model_copy(update={"problem": "1", "name": "other"})
    found = build(other, CPU)
    assert runs() == 1 and found.kernel == other.hash


@pytest.mark.parametrize("change", ["text", "option", "signature"])
def test_what_changes_the_code_builds_again(change: str, runs: Callable[[], int]) -> None:
    build(cpp(), CPU)
    build(
        {"text": cpp(SCALE + "\n"), "option": cpp(options=("-O2",)), "signature": cpp(dtype="float64")}[
            change
        ],
        CPU,
    )
    assert runs() == 2


def _entry(folder: Path) -> Path:
    (found,) = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return found


def _rewrite(change: Callable[[dict], object]) -> Callable[[Path], object]:
    def apply(entry: Path) -> None:
        record = json.loads((entry / "build.json").read_text())
        change(record)
        (entry / "build.json").write_text(json.dumps(record))

    return apply


DAMAGE: dict[str, Callable[[Path], object]] = {
    "artifact cut short": lambda e: os.truncate(e / "kernel.so", 100),
    "artifact empty": lambda e: os.truncate(e / "kernel.so", 0),
    "artifact gone": lambda e: (e / "kernel.so").unlink(),
    "one bit of the artifact": lambda e: (e / "kernel.so").write_bytes(
        (lambda d: d[:2000] + bytes([d[2000] ^ 1]) + d[2001:])((e / "kernel.so").read_bytes())
    ),
    "record is no JSON": lambda e: (e / "build.json").write_text("{"),
    "record is empty": lambda e: (e / "build.json").write_text(""),
    "record is another JSON": lambda e: (e / "build.json").write_text("[1, 2]"),
    "record is not text": lambda e: (e / "build.json").write_bytes(b"\xff\xfe\x00"),
    "record gone": lambda e: (e / "build.json").unlink(),
    "record is a folder": lambda e: ((e / "build.json").unlink(), (e / "build.json").mkdir()),
    "record of another format": _rewrite(lambda r: r.update(build={"kernel": 3})),
    "record without checksum": _rewrite(lambda r: r.pop("sha256")),
    "record changed": _rewrite(lambda r: r["build"].update(log="changed")),
    "entry is a file": lambda e: (shutil.rmtree(e), e.write_text("?")),
    "entry is empty": lambda e: (shutil.rmtree(e), e.mkdir()),
}


def _store(text: bytes, tmp_path: Path) -> Path:
    artifact = tmp_path / "kernel.so"
    artifact.write_bytes(text)
    made = cache.store("key", Build(kernel="k", target=CPU, status="built", log="said"), artifact)
    assert made.artifact is not None and not made.cached
    return Path(made.artifact)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_entry_is_dropped_and_can_be_stored_again(
    damage: Callable[[Path], object], folder: Path, tmp_path: Path
) -> None:
    _store(bytes(5000), tmp_path)
    damage(folder / "key")
    assert cache.load("key") is None
    assert list(folder.iterdir()) == []
    kept = _store(b"new", tmp_path)
    assert kept.read_bytes() == b"new"
    found = cache.load("key")
    assert found is not None and found.cached and found.log == "said"


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_entry_is_replaced_even_if_nobody_looked(
    damage: Callable[[Path], object], folder: Path, tmp_path: Path
) -> None:
    _store(bytes(5000), tmp_path)
    damage(folder / "key")
    assert _store(b"new", tmp_path).read_bytes() == b"new"


def test_the_second_of_two_makers_takes_the_firsts_entry(folder: Path, tmp_path: Path) -> None:
    first = _store(b"first", tmp_path)
    assert _store(b"second", tmp_path) == first
    assert first.read_bytes() == b"first"


def test_a_damaged_build_is_built_again(folder: Path) -> None:
    made = build(cpp(), CPU)
    assert made.artifact is not None
    os.truncate(made.artifact, 100)
    again = build(cpp(), CPU)
    assert again.status == "built" and not again.cached
    assert build(cpp(), CPU).cached


def _build_once(cache_dir: str, barrier: object, results: object) -> None:
    os.environ["KERNELWRIGHT_CACHE"] = cache_dir
    barrier.wait()  # type: ignore[attr-defined]
    made = build(cpp(), CPU)
    assert made.artifact is not None
    results.put((made.status, Path(made.artifact).stat().st_size))  # type: ignore[attr-defined]


def test_eight_processes_build_the_same_kernel_at_once(folder: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    workers = [
        context.Process(target=_build_once, args=(str(folder.parent), barrier, results)) for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    found = {results.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join()
    assert len(found) == 1 and found.pop()[0] == "built"
    assert [path.name for path in folder.iterdir()] == [_entry(folder).name]


def test_a_killed_builder_leaves_the_cache_usable(folder: Path, tmp_path: Path) -> None:
    slow = executable(tmp_path / "slow", '#!/bin/sh\ncase "$*" in *-S*) sleep 5;; esac\nexec g++ "$@"\n')
    script = "from languages_cases import *\nfrom kernelwright.languages import build\nbuild(cpp(), CPU)\n"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "cpu")])
    environment = {**os.environ, "PYTHONPATH": paths, "CXX": str(slow)}
    builder = subprocess.Popen([sys.executable, "-c", script], env=environment)
    deadline = time.monotonic() + 20
    while not (folder.exists() and list(folder.glob(".work-*/kw_tool.log"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    (left,) = folder.iterdir()
    assert left.name.startswith(".work-")
    assert build(cpp(), CPU).status == "built"
    assert left.exists(), "its compiler may still be running"
    for path in [left, *left.iterdir()]:
        os.utime(path, (1, 1))
    cache.sweep()
    assert not left.exists() and build(cpp(), CPU).cached


def test_a_time_limit_is_not_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kernelwright.languages.bounded.COMPILE_SECONDS", 0.3)
    slow = tmp_path / "slow"
    monkeypatch.setenv(
        "CXX", str(executable(slow, '#!/bin/sh\ncase "$*" in *-S*) sleep 30;; esac\nexec g++ "$@"\n'))
    )
    start = time.monotonic()
    made = build(cpp(), CPU)
    assert time.monotonic() - start < 10
    assert made.status == "failed" and "compiling took longer than 0.3 s" in made.log
    assert not build(cpp(), CPU).cached


def _filled(number: int, size: int, tmp_path: Path) -> Path:
    artifact = tmp_path / "a.so"
    artifact.write_bytes(b"x" * size)
    made = cache.store(f"key{number}", Build(kernel=str(number), target=CPU, status="built"), artifact)
    assert made.artifact is not None
    return Path(made.artifact).parent


def test_the_least_recently_used_entries_go_first(folder: Path, tmp_path: Path) -> None:
    entries = [_filled(number, 10_000, tmp_path) for number in range(4)]
    for age, entry in zip((4000, 8000, 2000, 6000), entries, strict=True):
        then = time.time() - age
        for path in [*entry.iterdir(), entry]:
            os.utime(path, (then, then))
    assert cache.load("key1") is not None
    assert cache.sweep(bound=25_000) < 25_000
    assert [entry.exists() for entry in entries] == [False, True, True, False]


def test_an_entry_just_used_is_never_evicted(folder: Path, tmp_path: Path) -> None:
    entry = _filled(0, 10_000, tmp_path)
    cache.sweep(bound=0)
    assert entry.exists()


@pytest.mark.parametrize("place", ["file", "below a file"])
def test_a_cache_that_cannot_be_is_one_line(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text("")
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "f" / ("" if place == "file" else "c")))
    with pytest.raises(EnvironmentFault) as caught:
        build(cpp(), CPU)
    assert "\n" not in str(caught.value) and "KERNELWRIGHT_CACHE" in str(caught.value)


_MOUNTED = """
import os, shutil, subprocess, sys
from pathlib import Path
from kernelwright.core.errors import EnvironmentFault
where = Path(sys.argv[1]); where.mkdir(); kind = sys.argv[2]
size = "300k" if kind == "full" else "8m"
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", where], check=True)
os.environ["KERNELWRIGHT_CACHE"] = str(where)
from languages_cases import CPU, cpp
from kernelwright.languages import build, cache
if kind == "full":
    (where / "filler").write_bytes(bytes(270_000))
else:
    build(cpp(), CPU)
    subprocess.run(["mount", "-o", "remount,ro", where], check=True)
    assert build(cpp(), CPU).cached, "a read-only cache still serves hits"
try:
    build(cpp(options=("-O2",)), CPU)
except EnvironmentFault as error:
    assert "\\n" not in str(error), str(error)
    print("FAULT", error)
print("LEFT", [p.name for p in cache.builds_dir().iterdir()] if cache.builds_dir().exists() else [])
"""


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_disk_that_says_no(kind: str, tmp_path: Path) -> None:
    probe = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(tmp_path)], capture_output=True
    )
    if probe.returncode:
        pytest.skip("no user namespace with mounts here")
    script = ["unshare", "-rm", sys.executable, "-c", _MOUNTED, str(tmp_path / "m"), kind]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "cpu")])
    done = subprocess.run(
        script, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "FAULT" in done.stdout, done.stdout
    left = done.stdout.split("LEFT")[1]
    assert ".work" not in left and left.count("'") == (0 if kind == "full" else 2)
