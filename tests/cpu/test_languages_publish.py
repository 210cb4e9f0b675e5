"""A published kernel reads back as it was, and a folder is never left half written over."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages_cases import ARGS, CPU, cpp, cuda, problem, triton

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import FloatArg, Plan
from kernelwright.languages import read_kernel, write_kernel
from kernelwright.languages.publish import load_kernel

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
PATH = st.from_regex(r"[a-z][a-z0-9]{0,6}(/[a-z]{1,4})?\.(cpp|h|cu)", fullmatch=True)
NAMES = st.lists(PATH, min_size=1, unique=True, max_size=3)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    sources = tuple(Source(path=path, text=draw(TEXT)) for path in draw(NAMES))
    plan = draw(st.sampled_from([cpp().plan, cuda().plan, triton().plan, Plan(buffers=(), run=()), None]))
    if plan is not None and plan.run and draw(st.booleans()):
        number = FloatArg(value=draw(st.floats(allow_nan=False, allow_infinity=False)))
        step = plan.run[0].model_copy(update={"args": (*ARGS[:3], number)})
        plan = plan.model_copy(update={"run": (step,)})
    return Kernel(
        name=draw(TEXT),
        problem=problem().hash,
        language=draw(st.sampled_from(["cpp", "cuda", "triton", "python"])),
        sources=sources,
        plan=plan,
        domain=draw(st.sampled_from(["", "n >= 1"])),
        options=tuple(draw(st.lists(TEXT, max_size=2))),
        proposer=Proposer(name="test", parameters={"unroll": draw(st.integers())}),
    )


@settings(max_examples=60, deadline=None)
@given(kernels(), st.booleans())
def test_what_is_published_reads_back_to_the_same_hash(kernel: Kernel, as_file: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_kernel(kernel, Path(folder, "out.json" if as_file else "out"))
        found = read_kernel(path, problem(), CPU)
        assert found.hash == kernel.hash
        assert found == kernel
        assert load_kernel(path) == kernel


def test_the_sources_are_ordinary_files(tmp_path: Path) -> None:
    kernel = cpp("int a;\r\nint b;\n")
    folder = write_kernel(kernel, tmp_path / "a" / "b")
    assert sorted(path.name for path in folder.iterdir()) == ["kernel.cpp", "kernel.json"]
    assert (folder / "kernel.cpp").read_bytes() == b"int a;\r\nint b;\n"
    (folder / "kernel.cpp").write_text("int c;\n")
    assert load_kernel(folder).hash == cpp("int c;\n").hash


def test_publishing_again_replaces(tmp_path: Path) -> None:
    write_kernel(cpp("int a;\n"), tmp_path / "k")
    write_kernel(cpp("int b;\n"), tmp_path / "k")
    assert load_kernel(tmp_path / "k").hash == cpp("int b;\n").hash
    assert len(list((tmp_path / "k").iterdir())) == 2


def test_a_kernel_of_another_problem_is_read_as_one_for_this(tmp_path: Path) -> None:
    path = write_kernel(cpp(), tmp_path / "k")
    assert read_kernel(path, problem(), CPU).problem == problem().hash


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="holds other files"):
        write_kernel(cpp(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("path", ["../k.cpp", "kernel.json", "/k.cpp"])
def test_sources_do_not_leave_the_folder(path: str, tmp_path: Path) -> None:
    kernel = cpp(sources=(Source(path=path, text=""),))
    with pytest.raises(UsageError):
        write_kernel(kernel, tmp_path / "k")
    assert not list(tmp_path.rglob("k.cpp"))
    assert load_kernel(write_kernel(kernel, tmp_path / "k.json")) == kernel


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(EnvironmentFault) as caught:
        write_kernel(cpp(), tmp_path / "f" / "k")
    assert "\n" not in str(caught.value)


def test_a_folder_without_its_record_is_not_a_kernel(tmp_path: Path) -> None:
    folder = write_kernel(cpp(), tmp_path / "k")
    (folder / "kernel.cpp").unlink()
    with pytest.raises(UsageError, match=r"no kernel file '.*kernel\.cpp'"):
        load_kernel(folder)
