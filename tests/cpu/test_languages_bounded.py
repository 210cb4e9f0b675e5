"""Tools under limits: time, memory, output, and what they may see."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kernelwright.languages.bounded import LOG_BYTES, python_script, run_bounded


def test_a_tool_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    start = time.monotonic()
    ended = run_bounded(["sh", "-c", "sleep 60 & echo $!; wait"], tmp_path, seconds=0.3)
    assert ended.timed_out and not ended.ok and time.monotonic() - start < 5
    child = int(ended.output.split()[0])
    for _ in range(50):
        if not _alive(child):
            break
        time.sleep(0.05)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


def test_memory_is_bounded(tmp_path: Path) -> None:
    ended = run_bounded([sys.executable, "-c", "bytearray(2 << 30)"], tmp_path, memory_bytes=1 << 30)
    assert ended.code != 0 and "MemoryError" in ended.output


def test_output_is_bounded(tmp_path: Path) -> None:
    ended = run_bounded([sys.executable, "-c", f"print('x' * {2 * LOG_BYTES})"], tmp_path)
    assert ended.ok and LOG_BYTES < len(ended.output) < LOG_BYTES + 200
    assert "the rest was dropped" in ended.output


def test_secrets_of_the_environment_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abc")
    ended = run_bounded(["env"], tmp_path, settings={"MINE": "1"})
    assert (
        "SOME_API_KEY" not in ended.output
        and "MINE=1" in ended.output
        and f"TMPDIR={tmp_path}" in ended.output
    )


def test_a_script_imports_nothing_that_lies_beside_it_or_where_it_runs(tmp_path: Path) -> None:
    for place in ("here", "beside"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "json.py").write_text("raise SystemExit('hijacked')\n")
    script = tmp_path / "beside" / "script.py"
    script.write_text("import json, sys\nprint(json.__file__)\n")
    ended = run_bounded(python_script(script), tmp_path / "here")
    assert ended.ok and os.path.join("json", "__init__.py") in ended.output


def test_relative_search_paths_do_not_lead_into_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')\n")
    (tmp_path / "script.py").write_text("import json\nprint(json.__file__)\n")
    monkeypatch.setenv("PYTHONPATH", f".{os.pathsep}{os.pathsep}")
    ended = run_bounded(python_script(tmp_path / "script.py"), tmp_path)
    assert ended.ok and os.path.join("json", "__init__.py") in ended.output


def test_lower_limits_of_the_machine_stay_and_say_nothing(tmp_path: Path) -> None:
    script = (
        "import os, resource, sys\n"
        "from pathlib import Path\n"
        "from kernelwright.languages.bounded import run_bounded\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "if os.getuid() == 0: os.chmod(sys.argv[1], 0o777); os.setgid(65534); os.setuid(65534)\n"
        "print(run_bounded(['/bin/sh', '-c', 'ulimit -v'], Path(sys.argv[1])).output)\n"
    )
    folder = Path(tempfile.mkdtemp())
    try:
        command = [sys.executable, "-c", script, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    finally:
        shutil.rmtree(folder)
    if done.returncode:
        pytest.skip(f"no unprivileged user can run this here: {done.stderr.splitlines()[-1]}")
    assert done.stdout.strip() == str(3 << 20)


def test_arguments_reach_the_tool_as_they_are(tmp_path: Path) -> None:
    words = ["a b", "$(touch x)", "'", "; exit 3"]
    ended = run_bounded([sys.executable, "-c", "import sys; print(sys.argv[1:])", *words], tmp_path)
    assert ended.output.strip() == str(words) and not (tmp_path / "x").exists()
