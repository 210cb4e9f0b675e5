"""Requests that do not fit: one line, exit code 2, nothing on stdout, nothing stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bad_input_run import CHEATS, SMALL, call, refused

from kernelwright.problems import load_problem

PROBLEM = str(CHEATS / "problem.py")
FORM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        {forward}


def get_inputs():
    {inputs}
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KERNELWRIGHT_DB", raising=False)
    monkeypatch.chdir(tmp_path)


def problem_file(forward: str = "return x + 1", inputs: str = "return [torch.rand(8, 8)]") -> str:
    Path("given.py").write_text(FORM.format(forward=forward, inputs=inputs))
    return "given.py"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["optimise", "x.py"], ["unknown command 'optimise'", "did you mean 'optimize'?"]),
        (["optimize"], ["SOURCE"]),
        (["optimize", PROBLEM, "--budgett", "1"], ["--budgett", "--budget"]),
        (["optimize", PROBLEM, "--budget", "soon"], ["--budget", "soon"]),
        (["optimize", PROBLEM, "--budget", "-1"], ["-1.0", "0 or more"]),
        (["optimize", PROBLEM, "--budget", "nan"], ["nan", "finite"]),
        (["optimize", PROBLEM, "--budget", "inf"], ["inf", "finite"]),
        (["diagnose", PROBLEM, "--seconds", "nan"], ["nan", "finite"]),
        (["diagnose", PROBLEM, "--seconds", "-2"], ["-2.0", "0 or more"]),
        (["optimize", PROBLEM, "--target", "tpu"], ["'tpu'", "allowed: cpu, cuda"]),
        (["diagnose", PROBLEM, "--target", "cuda:90"], ["'cuda:90'", "allowed:"]),
        (["optimize", PROBLEM, "--strategy", "anneal"], ["'anneal'", "allowed: evolution, local, random"]),
        (["optimize", PROBLEM, "--mode", "test"], ["'test'", "'train', 'eval'"]),
        (["optimize", PROBLEM, "--inputs", "a:b"], ["brings its own inputs", "a:b"]),
        (["verify", "k.cpp"], ["--problem"]),
        (["verify", "k.cpp", "--problem", PROBLEM, "--level", "max"], ["'max'", "'quick'"]),
        (["report", "--limit", "0"], ["--limit", "x>=1"]),
        (["show", "t-0"], ["no trial 't-0'", "kernelwright report"]),
        (["show", "t-0", "--json"], ["no trial 't-0'"]),
        (["report", "r-0", "--json"], ["no run 'r-0'"]),
        (["trials", "impor"], ["'impor'"]),
        (["trials", "import", "gone.jsonl"], ["gone.jsonl", "does not exist"]),
    ],
    ids=lambda value: " ".join(value[:4]).replace(PROBLEM, "P") if isinstance(value, list) else None,
)
def test_a_request_that_does_not_fit(arguments: list[str], words: list[str]) -> None:
    refused(call(*arguments), 2, *words)
    assert not Path("data").exists() or arguments[0] in ("show", "report")


def test_a_command_alone_is_answered_with_its_help() -> None:
    for arguments in ([], ["trials"]):
        done = call(*arguments)
        assert (done.code, done.out) == (2, "")
        assert "Usage: kernelwright" in done.err
        assert "error:" not in done.err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("nothing.py", "", ["no 'Model'", "defines: nothing"]),
        ("no_inputs.py", "class Model: pass\n", ["no 'get_inputs'", "it defines: Model"]),
        ("syntax.py", "x = 1\ndef (\n", ["does not parse", "line 2"]),
        ("zero.py", "x = 1\0\n", ["does not parse"]),
        ("imports.py", "import nowhere_at_all\n" + SMALL, ["cannot be run", "nowhere_at_all"]),
        ("exits.py", "raise SystemExit(0)\n" + SMALL, ["cannot be run", "SystemExit"]),
        ("leaves.py", SMALL + "import sys\nsys.exit(3)\n", ["cannot be run", "SystemExit: 3"]),
        ("number.py", SMALL + "Model = 3\n", ["Model(*get_init_inputs()) raises", "int"]),
        ("data.txt", SMALL, ["neither a .py problem file nor of the form module:attribute"]),
        ("deep.py", SMALL + f"z = {'-' * 100_000}1\n", ["does not parse", "nested too deeply"]),
        ("long.py", SMALL + f"z = {'+'.join(['1'] * 20_000)}\n", ["does not parse", "nested too deeply"]),
        ("huge.py", SMALL + "#" * (16 << 20), ["cannot be read", "larger than 16777216 bytes"]),
        ("coding.py", "# coding: klingon\n" + SMALL, ["cannot be read", "unknown encoding: klingon"]),
        ("ends.py", f"class End(BaseException): pass\n{SMALL}raise End(1)\n", ["cannot be run: End: 1"]),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith((".py", ".txt")) else None,
)
def test_a_file_that_is_no_problem(name: str, text: str, words: list[str]) -> None:
    Path(name).write_text(text)
    refused(call("optimize", name), 2, name.partition(".")[0], *words)


def test_a_missing_file_and_its_nearest_neighbour() -> None:
    Path("softmax.py").write_text(SMALL)
    refused(call("optimize", "softmx.py"), 2, "softmx.py does not exist", "did you mean 'softmax.py'?")
    refused(call("diagnose", "gone/softmax.py"), 2, "does not exist", "give the path")
    Path("k.cpp").write_text("")
    refused(call("verify", "k.cpp", "--problem", "softmx.py"), 2, "did you mean 'softmax.py'?")
    refused(call("optimize", "."), 2, "neither a .py problem file")
    Path("bytes.py").write_bytes(b"\xff\x00\xfe")
    refused(call("optimize", "bytes.py"), 2, "bytes.py cannot be read")


def odd_files(name: str) -> None:
    """Files that are none to read: pipes, devices, folders, loops, names that no system takes."""
    os.mkfifo(f"pipe{name}")
    Path(f"device{name}").symlink_to("/dev/zero")
    Path(f"loop{name}").symlink_to(f"loop{name}")
    Path(f"nowhere{name}").symlink_to("gone")


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "nowhere", "x" * 300, "a/" * 3000])
def test_a_path_that_is_no_file_to_read(kind: str) -> None:
    odd_files(".py")
    done = call("optimize", f"{kind}.py")
    refused(done, 2, "problem file")
    assert ("regular" in done.error) == (kind in ("pipe", "device")), done.error
    given, name = problem_file(), f"{kind}.cpp"
    odd_files(".cpp")
    done = call("verify", name, "--problem", given)
    refused(done, 2)
    assert ("regular" in done.error) == (kind in ("pipe", "device")), done.error


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"# coding: latin-1\n# \xe9\n", b"# \xc3\xa9\r\n\r\n"])
def test_a_problem_file_is_read_as_python_reads_it(start: bytes) -> None:
    Path("given.py").write_bytes(start + SMALL.replace("\n", "\r\n").encode())
    problem = load_problem("given.py")
    assert (problem.name, "\r" in problem.source) == ("given", False)


@pytest.mark.parametrize(
    ("forward", "inputs", "words"),
    [
        ("raise ValueError('boom\\nand more')", "return [torch.rand(8, 8)]", ["raises: ValueError: boom"]),
        ("raise SystemExit(0)", "return [torch.rand(8, 8)]", ["SystemExit: 0"]),
        ("return self.forward(x)", "return [torch.rand(8, 8)]", ["RecursionError"]),
        ("return x @ torch.rand(7, 4)", "return [torch.rand(8, 8)]", ["cannot be multiplied"]),
        ("return x", "return [torch.rand(8), torch.rand(8)]", ["do not fit: 2 given", "takes (x)"]),
        ("return x", "return []", ["do not fit: 0 given", "takes (x)"]),
        ("return x", "return 1 / 0", ["get_inputs() raises: ZeroDivisionError"]),
        ("return None", "return [torch.rand(8)]", ["returns no tensor", "at least one"]),
        ("return 'text'", "return [torch.rand(8)]", ["returns no tensor"]),
        ("return x", "return ['a']", ["returns no tensor"]),
        ("return x.nonzero()", "return [torch.rand(8)]", ["shape that depends on values"]),
        ("return x.abs()", "return [torch.rand(8, dtype=torch.complex64)]", ["complex64; allowed: float64"]),
        ("return x.to_dense()", "return [torch.eye(4).to_sparse()]", ["sparse_coo tensor", "dense"]),
        ("return next(x)", "return [iter([torch.rand(8)])]", ["has a list_iterator; allowed: tensors"]),
        ("return x.x", "return [type('Bag', (), {})()]", ["has a Bag; allowed: tensors, numbers, strings"]),
        (
            "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()",
            "return [torch.rand(8)]",
            ["Mute: <exception str() failed>"],
        ),
        (
            "return x\n    def __init__(self): super().__init__(); self.me = self",
            "return [torch.rand(8)]",
            ["cannot be put on a device: RecursionError"],
        ),
        (
            "return self.l(x)\n    def __init__(self): super().__init__(); self.l = nn.LazyLinear(3)",
            "return [torch.rand(8)]",
            ["weight 'l.weight' of 'given' has no shape yet"],
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_a_reference_that_does_not_run(forward: str, inputs: str, words: list[str]) -> None:
    refused(call("optimize", problem_file(forward, inputs)), 2, *words)
    assert not Path("data", "trials.db").exists()


@pytest.mark.parametrize(
    ("source", "inputs", "words"),
    [
        ("given.py:Model", None, ["needs example inputs of the form module:function (--inputs)"]),
        ("given.py:Model", "given.py", ["needs example inputs of the form module:function (--inputs)"]),
        ("given.py:Modle", "given.py:get_inputs", ["no attribute 'Modle'", "did you mean 'Model'?"]),
        ("given.py:Model", "given.py:get_input", ["no attribute 'get_input'", "did you mean 'get_inputs'?"]),
        ("gone.py:Model", "given.py:get_inputs", ["'gone.py' cannot be imported"]),
        ("no_such_module:Model", "given.py:get_inputs", ["No module named 'no_such_module'"]),
        ("given.py:torch.nn.Linear", "given.py:get_inputs", ["cannot be made", "in_features"]),
        ("json:__name__", "given.py:get_inputs", ["is a str", "name a module class"]),
        ("given.py:Model", "json:loads", ["inputs json:loads raise"]),
        (":", "given.py:get_inputs", ["not of the form module:attribute"]),
    ],
)
def test_an_importable_source_that_is_not_there(source: str, inputs: str | None, words: list[str]) -> None:
    problem_file()
    refused(call("optimize", source, *(["--inputs", inputs] if inputs else [])), 2, *words)


def test_a_gpu_that_is_not_there_is_the_machines_lack_and_said_first() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    for command in ("optimize", "diagnose"):
        done = call(command, PROBLEM, "--target", "cuda")
        refused(done, 4, "target 'cuda' cannot be used here", "--target cpu", "doctor")
        assert done.err.count("\n") == 1, "nothing was begun"
    assert not Path("data").exists()


def test_debug_shows_where_and_keeps_the_exit_code() -> None:
    done = call("optimize", "gone.py", "--debug")
    assert (done.code, done.out) == (2, "")
    assert "Traceback" in done.err
    assert "gone.py does not exist" in done.error


def test_a_fault_of_our_own_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("first line\nsecond line")

    monkeypatch.setattr("kernelwright.cli.machine.machine_document", broken)
    done = call("doctor", "--json")
    refused(done, 1, "unforeseen fault", "--debug", "ZeroDivisionError: first line")
    assert "second line" not in done.err
    assert "in broken" in call("doctor", "--json", "--debug").err


def test_imports_of_garbage_add_nothing() -> None:
    for number, text in enumerate(
        ["my thesis\n", '{"schema":1,"kind":"trial","id":"t-1","document":{}}\n', "[]\n"]
    ):
        path = Path(f"garbage{number}.jsonl")
        path.write_text(text)
        refused(call("trials", "import", path), 4, path.name)
        assert path.read_text() == text
    refused(call("trials", "import", "."), 2, "is a directory")
    assert json.loads(call("report", "--json").out) == {"runs": []}


def test_names_are_not_read_as_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kernelwright.cli.table import print_diagnosis

    report = {
        "problem": {"name": "a[/bold][red]b", "hash": "0" * 32},
        "target": "cpu",
        "parts": [{"name": "aten::[/]", "kind": "[64, 64]"}],
        "summary": ["[/nothing]"],
    }
    print_diagnosis(report)
    printed = capsys.readouterr().out
    assert all(text in printed for text in ("a[/bold][red]b", "aten::[/]", "[64, 64]", "[/nothing]"))


def test_what_a_users_code_prints_is_kept_off_stdout() -> None:
    given = problem_file(forward="print('in forward'); raise ValueError(1)")
    Path(given).write_text("print('at import')\n" + Path(given).read_text())
    done = call("optimize", given, "--json")
    refused(done, 2, "ValueError")
    assert "at import" in done.err


@pytest.mark.parametrize("arguments", [["report"], ["report", "--json"], ["doctor", "--json"], ["--help"]])
def test_a_reader_who_goes_away_is_no_error(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
