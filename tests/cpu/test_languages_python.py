"""Open kernels are checked by syntax and never run; and the list of languages."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from languages_cases import CPU, SM_90A

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.languages import LANGUAGES, build


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))


def python(text: str, *more: Source) -> Kernel:
    return Kernel(name="k", problem="0", language="python", sources=(Source(path="new.py", text=text), *more))


def test_the_artifact_is_the_source() -> None:
    text = "raise SystemExit('run')\n\nclass ModelNew:\n    pass\n"
    for target in (CPU, SM_90A):
        made = build(python(text), target)
        assert made.status == "built"
        assert Path(made.artifact or "").read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class ModelNew:\n    def f(:\n", "new.py:2: "),
        ("class Model:\n    pass\n", "new.py: no class 'ModelNew'"),
        ("def f():\n    class ModelNew:\n        pass\n", "no class 'ModelNew'"),
        ("a = '\0'\n", "null bytes"),
        ("(" * 5000, "new.py"),
    ],
)
def test_what_is_no_open_kernel(text: str, said: str) -> None:
    made = build(python(text), CPU)
    assert made.status == "failed" and said in made.log


def test_several_sources_are_one_archive_with_the_entry_first() -> None:
    text = "from pkg.b import kernel\n\ndef kernel(x):\n    return x\n"
    more = Source(path="pkg/b.py", text="kernel = 1\n")
    made = build(python(text, more), CPU)
    with zipfile.ZipFile(made.artifact or "") as archive:
        assert [archive.read(name).decode() for name in archive.namelist()] == [text, more.text]
    assert "no function 'kernel'" in build(python("", more), CPU).log
    assert "pkg/b.py:1: " in build(python(text, Source(path="pkg/b.py", text="(")), CPU).log


def test_an_unknown_language_lists_those_there_are() -> None:
    kernel = python("").model_copy(update={"language": "fortran"})
    with pytest.raises(UsageError, match="unknown language 'fortran'; allowed: cpp, cuda, python, triton"):
        build(kernel, CPU)


def test_every_language_says_whether_it_is_available() -> None:
    for name in LANGUAGES.names():
        language = LANGUAGES.get(name)()
        assert language.name == name
        for target in (CPU, SM_90A):
            reason = language.unavailable(target)
            assert reason is None or "\n" not in reason
            if target.name not in language.targets:
                assert (
                    reason
                    == f"language '{name}' builds for {' or '.join(language.targets)}, not for {target.name}"
                )


def test_the_package_loads_neither_torch_nor_triton() -> None:
    script = (
        "import sys, kernelwright.languages as l\n"
        "[l.LANGUAGES.get(name) for name in l.LANGUAGES.names()]\n"
        "print(sorted({'torch', 'triton', 'numpy', 'sqlalchemy', 'cuda'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
