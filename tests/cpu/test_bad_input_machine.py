"""What the machine lacks: one line, exit code 4, nothing half-written, and on with the run where it can."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from bad_input_command import shorten
from bad_input_run import SMALL, cache_of_these_tests, call, leftovers, refused
from test_store_faults import small_disk

KERNEL = """extern "C" void k(const float *x, float *out, long rows, long columns) {
    for (long i = 0; i < rows * columns; ++i) out[i] = (x[i] > 0 || x[i] != x[i] ? x[i] : 0) * 2 + 1;
}
"""
VERIFY = ("verify", "k.cpp", "--problem", "small.py", "--level", "quick")
OPTIMIZE = ("optimize", "small.py", "--budget", "1")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    shared = cache_of_these_tests(tmp_path_factory.getbasetemp())
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(shared))
    for name in ("KERNELWRIGHT_DB", "KERNELWRIGHT_LAUNCHER", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shorten(monkeypatch.setitem)
    Path("small.py").write_text(SMALL)
    Path("k.cpp").write_text(KERNEL)
    return shared


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PATH", "", ["no C++ compiler: 'g++' is not on PATH", "install g++", "CXX"]),
        ("CXX", "no-such-compiler -O2", ["'no-such-compiler' is not on PATH"]),
        ("CXX", "false", ["set CXX to a working C++ compiler"]),
        ("CXX", '"', ["CXX is '\"', which is no command", "set it to a compiler"]),
    ],
    ids=["none", "unknown", "broken", "unclosed"],
)
def test_no_compiler(
    name: str, value: str, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(name, value)
    refused(call(*VERIFY), 4, *words)
    if name == "PATH":
        refused(call(*OPTIMIZE), 4, *words)
        refused(call("diagnose", "small.py"), 4, *words)
        assert json.loads(call("report", "--json").out)["runs"][0]["state"] == "failed"
    assert leftovers(tmp_path / "cache") == []
    if value != "false":
        found = json.loads(call("doctor", "--json").out)["languages"]["cpp"]
        assert not found["available"] and words[0] in found["reason"]


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_cache_that_cannot_be_written(below: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("mine")
    monkeypatch.setenv("KERNELWRIGHT_CACHE", f"{Path.cwd()}/file{below}")
    for command in (VERIFY, OPTIMIZE):
        refused(call(*command), 4, "cannot write", "Not a directory", "KERNELWRIGHT_CACHE")
    assert Path("file").read_text() == "mine"


@pytest.mark.parametrize(
    "command", [OPTIMIZE, ("report", "--json"), ("show", "t-1", "--json")], ids=lambda c: c[0]
)
def test_a_store_that_cannot_be_opened(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("mine")
    monkeypatch.setenv("KERNELWRIGHT_DATA", f"{Path.cwd()}/file")
    refused(call(*command), 4, "store", "set KERNELWRIGHT_DB")
    monkeypatch.setenv("KERNELWRIGHT_DB", f"sqlite:///{Path.cwd()}/file")
    refused(call(*command), 4, "cannot be opened: file is not a database", "set KERNELWRIGHT_DB")
    assert Path("file").read_text() == "mine"
    monkeypatch.setenv("KERNELWRIGHT_DB", "nonsense")
    refused(call(*command), 2, "no SQLAlchemy URL", "sqlite:////path/to/trials.db")
    monkeypatch.setenv("KERNELWRIGHT_DB", "postgresql+none://me:secret@nowhere/x")
    done = call(*command)
    refused(done, 4, "no driver", "me:***@nowhere")
    assert "secret" not in done.err


def test_a_full_disk_under_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        (disk / "filler").write_bytes(b"x" * (40 << 10))
        monkeypatch.setenv("KERNELWRIGHT_CACHE", str(disk))
        for command in (VERIFY, OPTIMIZE):
            refused(call(*command), 4, "KiB are free", "free space there", "KERNELWRIGHT_CACHE")
        assert leftovers(disk) == []


def test_a_disk_that_fills_up_under_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "200k") as disk:
        monkeypatch.setenv("KERNELWRIGHT_DATA", str(disk))
        refused(call("optimize", "small.py", "--budget", "30"), 4, "trial store", "full", "KERNELWRIGHT_DB")
        (run,) = json.loads(call("report", "--json").out)["runs"]
        kept = json.loads(call("report", run["run"], "--json").out)["rows"]
        assert all(call("show", row["trial"]).code == 0 for row in kept)


def test_a_store_that_can_only_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        monkeypatch.setenv("KERNELWRIGHT_DATA", str(disk))
        assert json.loads(call("report", "--json").out) == {"runs": []}
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert json.loads(call("report", "--json").out) == {"runs": []}
        done = call(*OPTIMIZE)
        refused(done, 4, "cannot be written", "readonly", "KERNELWRIGHT_DB")
        assert "baseline" not in done.err, "it is said before the work"


def test_damaged_cache_entries_are_made_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert call(*VERIFY).code == 0
    damaged = tmp_path / "damaged"
    shutil.copytree(cache, damaged)
    files = [path for path in damaged.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".so", ".json"}
    for number, path in enumerate(files):
        data = path.read_bytes()
        path.write_bytes((b"", data[: len(data) // 2], b"\0" * len(data), b"garbage")[number % 4])
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(damaged))
    done = call(*VERIFY, "--json")
    assert (done.code, json.loads(done.out)["verdict"]) == (0, "accepted"), done
    assert leftovers(damaged) == []


def test_a_place_for_the_kernel_that_does_not_fit_is_said_before_the_search(tmp_path: Path) -> None:
    Path("full").mkdir()
    Path("full", "mine").write_text("mine")
    Path("folder.json").mkdir()
    Path("nowhere").symlink_to("gone")
    for place, words in (
        ("full", "holds other files"),
        ("full/mine/below", "no folder"),
        ("small.py", "no folder"),
        ("folder.json", "is a folder"),
        ("nowhere", "no folder"),
        ("nowhere/below", "no folder"),
        ("x" * 300, "cannot be used: File name too long"),
    ):
        done = call(*OPTIMIZE, "--output", place)
        refused(done, 2, words)
        assert done.err.count("\n") == 1, "nothing was begun"
    with small_disk(tmp_path / "disk", "100k") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        refused(call(*OPTIMIZE, "--output", disk / "kernel"), 4, "nothing can be written in", "another place")


def test_a_page_that_cannot_be_written_costs_no_verdict() -> None:
    done = call(*VERIFY, "--json", "--html", "small.py/page.html")
    assert done.code in (2, 4) and "small.py/page.html" in done.error
    assert json.loads(done.out)["verdict"] == "accepted"


def test_a_reference_that_runs_out_of_memory() -> None:
    text = SMALL.replace("return torch.relu(x) * 2 + 1", "return x + x.new_zeros(1 << 42)[:256]")
    Path("small.py").write_text(text)
    refused(call(*OPTIMIZE), 2, "runs out of memory", "smaller sizes")
