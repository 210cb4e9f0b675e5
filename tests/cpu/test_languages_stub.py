"""Stubs: for every example problem, and for names that are hard to have, the file is read and it builds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from languages_cases import CPU, SM_90, problem

from kernelwright.cli import root
from kernelwright.core.dtypes import DTYPES
from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem, ScalarSpec, TensorSpec
from kernelwright.languages import build, read_kernel
from kernelwright.languages.cuda_headers import include_dirs
from kernelwright.languages.stub import StubLanguage, names, stub
from kernelwright.problems import load_problem

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "problems").glob("*.py"))
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


def read(folder: Path, of: Problem, language: StubLanguage) -> Kernel:
    path = folder / ("kernel.cpp" if language == "cpp" else "kernel.cu")
    path.write_text(stub(of, language))
    return read_kernel(path, of, CPU if language == "cpp" else SM_90)


def built(folder: Path, of: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(folder / "cache"))
    made = build(read(folder, of, "cpp"), CPU)
    assert made.status == "built", made.log
    assert read(folder, of, "cuda").plan is not None


def specs(prefix: str) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name=f"{prefix}_{dtype}", dtype=dtype, shape=("rows",)) for dtype in DTYPES)


def with_tensors(**fields: tuple[TensorSpec, ...]) -> Problem:
    return problem().model_copy(update={"mutated": (), **fields})


@needs_compiler
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_stub_is_read_and_builds(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_problem(path)
    built(tmp_path, loaded, monkeypatch)
    plan = read(tmp_path, loaded, "cpp").plan
    assert plan is not None
    tensors = {spec.name for spec in (*loaded.inputs, *loaded.weights, *loaded.outputs)}
    assert {buffer.name for buffer in plan.buffers} == tensors


@needs_compiler
def test_every_element_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path, with_tensors(inputs=specs("x"), outputs=specs("y")), monkeypatch)


@pytest.mark.skipif(not include_dirs(), reason="no CUDA headers")
def test_every_element_type_on_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    made = build(read(tmp_path, with_tensors(inputs=specs("x"), outputs=specs("y")), "cuda"), SM_90)
    assert made.status == "built", made.log


@needs_compiler
def test_names_that_a_function_cannot_have_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An axis called like a tensor, a word of C++, a loop's usual index, two that differ in a dot."""
    called = ("rows", "i", "default", "a.b", "a_b", "kernel_norm")
    inputs = tuple(TensorSpec(name=name, dtype="float32", shape=("cols",)) for name in called)
    scalars = (
        ScalarSpec(name="flag", value=True, position=9),
        ScalarSpec(name="eps", value=None, position=8),
    )
    hard = with_tensors(inputs=inputs).model_copy(update={"scalars": scalars, "name": "2-norm\n}"})
    built(tmp_path, hard, monkeypatch)
    assert [name.parameter for name in names(hard)][:2] == ["rows", "i"]


@needs_compiler
def test_what_changes_in_place_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path, problem(), monkeypatch)
    assert "float *norm_mean" in stub(problem(), "cpp")
    assert "const float *norm_weight" in stub(problem(), "cpp")
    only_state = problem().model_copy(update={"outputs": ()})
    built(tmp_path, only_state, monkeypatch)


def test_the_command_says_the_same_in_three_ways() -> None:
    path = str(next(path for path in EXAMPLES if path.stem == "softmax"))
    printed = CliRunner().invoke(root, ["signature", path])
    only = CliRunner().invoke(root, ["signature", path, "--stub"])
    found = json.loads(CliRunner().invoke(root, ["signature", path, "--json"]).stdout)
    assert printed.exit_code == only.exit_code == 0
    assert printed.stdout.endswith(only.stdout) and only.stdout == found["stub"]
    by_name = {one["parameter"]: one for one in found["parameters"]}
    assert by_name["scores"]["kind"] == "input" and by_name["out"]["kind"] == "output"
    assert by_name["keys"]["kind"] == "axis" and by_name["keys"]["shape"] is None
