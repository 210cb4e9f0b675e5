"""Definitions become problems: every way to make an input, computed sizes, constraints, names that clash."""

from __future__ import annotations

import copy
import struct
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from exchange_cases import DEFINITION, SOLUTION, WORKLOAD, WRITES, damaged, safetensors_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.problems import Reference
from kernelwright.suites.exchange.definition import Definition
from kernelwright.suites.exchange.kernel import solution_kernel
from kernelwright.suites.exchange.problem import definition_problem
from kernelwright.suites.exchange.solution import Solution
from kernelwright.suites.exchange.tensors import find_tensor_file, keep_tensor
from kernelwright.suites.exchange.workload import Workload

CPU = Target.parse("cpu")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))


def made(definition: dict[str, Any], workload: dict[str, Any], place: Path) -> Problem:
    read = Definition.of(definition, "definition.json")
    point = Workload.of(workload, "workload.jsonl")
    point.check(read, "workload.jsonl")
    return definition_problem(read, point, place / "definition.json", place)


def changed(content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(content), **changes}


def test_random_tensors_scalars_and_names(tmp_path: Path) -> None:
    problem = made(DEFINITION, WORKLOAD, tmp_path)
    assert problem.name == "relu_scale"
    assert {axis.name: axis.size for axis in problem.axes} == {"rows": 96}
    assert [(spec.name, spec.shape) for spec in problem.inputs] == [("x", ("rows", 64)), ("weight", (64,))]
    assert [(spec.name, spec.value) for spec in problem.scalars] == [("scale", 2.5)]
    assert [(spec.name, spec.shape) for spec in problem.outputs] == [("y", ("rows", 64))]
    assert problem.notes["workload"] == "w-1" and "0.01" in problem.notes["tolerance"]
    assert len(problem.workloads) > 1 and all(point.axes.keys() == {"rows"} for point in problem.workloads)
    reference = Reference.open(problem)
    x, weight, scale = reference.draw(1)
    torch.testing.assert_close(reference.forward([x, weight, scale])[0], torch.relu(x) * weight * 2.5)
    assert not torch.equal(x, reference.draw(2)[0])


def test_identity_is_of_what_is_computed_and_not_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here = made(DEFINITION, WORKLOAD, tmp_path).hash
    assert (
        made(changed(DEFINITION, tags=["a"]), changed(WORKLOAD, uuid="w-2"), tmp_path / "other").hash == here
    )
    assert made(DEFINITION, changed(WORKLOAD, axes={"rows": 97}), tmp_path).hash != here


def test_integers_booleans_and_computed_sizes(tmp_path: Path) -> None:
    definition = changed(
        DEFINITION,
        axes={
            "n": {"type": "var"},
            "k": {"type": "const", "value": 3},
            "m": {"type": "expr", "expression": "n*k/2"},
        },
        constraints=["n % 2 == 0", "m == index.shape[0]"],
        inputs={
            "index": {"shape": ["m"], "dtype": "int32"},
            "mask": {"shape": ["m"], "dtype": "bool"},
            "small": {"shape": ["2", "m"], "dtype": "int8"},
        },
        outputs={"y": {"shape": ["2", "m"], "dtype": "int64"}},
        reference="def run(index, mask, small):\n    return small.long() * index * mask\n",
    )
    inputs = {name: {"type": "random"} for name in ("index", "mask", "small")}
    problem = made(definition, {"uuid": "u", "axes": {"n": 64}, "inputs": inputs}, tmp_path)
    assert [spec.shape for spec in problem.inputs] == [
        ("(n * 3) // 2",),
        ("(n * 3) // 2",),
        (2, "(n * 3) // 2"),
    ]
    assert all(point.axes["n"] % 2 == 0 for point in problem.workloads)
    assert problem.notes["constraints_on_values"] == "m == index.shape[0]"
    index, mask, small = Reference.open(problem).draw(1)
    assert index.dtype == torch.int32 and -1024 <= int(index.min()) < 0 < int(index.max()) < 1024
    assert mask.dtype == torch.bool and small.dtype == torch.int8


def test_tensors_from_files_are_kept_by_content(tmp_path: Path) -> None:
    values = torch.arange(96 * 64, dtype=torch.float32).view(96, 64)
    blob = tmp_path / "top" / "blob" / "x.safetensors"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(
        safetensors_bytes(
            {"n": ("I64", [1], struct.pack("<q", 7)), "x": ("F32", [96, 64], values.numpy().tobytes())}
        )
    )
    place = tmp_path / "top" / "workloads" / "op"
    place.mkdir(parents=True)
    given_x = {"type": "safetensors", "path": "data/top/blob/x.safetensors", "tensor_key": "x"}
    workload = changed(WORKLOAD)
    workload["inputs"]["x"] = given_x
    problem = made(DEFINITION, workload, place)
    blob.unlink()
    reference = Reference.open(problem)
    assert torch.equal(reference.draw(1)[0], values) and torch.equal(reference.draw(2)[0], values)
    assert problem.axes == (), "an axis of a stored tensor cannot change"
    assert str(tmp_path) not in problem.source
    with pytest.raises(UsageError, match="is in no folder above"):
        made(DEFINITION, workload, place)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no safetensors file"),
        (b"version https://git-lfs\noid", "is no safetensors file: its header would be"),
        (struct.pack("<Q", 2) + b"{}", "has no tensor 'x'; allowed: none"),
        (struct.pack("<Q", 3) + b"\xff{}", "is no safetensors file"),
        (struct.pack("<Q", 2) + b"[]", "has no tensor 'x'"),
        (struct.pack("<Q", 8) + b'{"x": 3}', "entry 'x' is not as the format has it"),
        (safetensors_bytes({"x": ("F4", [2], b"ab")}), "'x' has type F4; allowed: BF16"),
        (safetensors_bytes({"x": ("F32", [3], b"abcd")}), "'x' has 4 bytes, its shape needs 3 x float32"),
        (safetensors_bytes({"x": ("F32", [-1], b"abcd")}), "is not as the format has it"),
        (safetensors_bytes({"x": ("F32", [1], b"abcd")})[:-1], "'x' has 3 bytes"),
    ],
)
def test_a_file_that_holds_no_such_tensor(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "x.safetensors"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        keep_tensor(find_tensor_file("x.safetensors", tmp_path), "x")
    assert said in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="is in no folder above"):
        find_tensor_file("x" * 5000, tmp_path)
    with pytest.raises(UsageError, match="leaves its collection"):
        find_tensor_file("../x.safetensors", tmp_path)


CUSTOM = """import torch

def make(given, device):
    x = torch.full((given["rows"], given["columns"]), given["scale"], device=device)
    return {"weight": torch.rand(given["columns"], device=device), "x": x}


def run(x, weight, scale):
    return torch.relu(x) * weight * scale
"""


def test_a_definitions_own_function_makes_the_inputs(tmp_path: Path) -> None:
    definition = changed(DEFINITION, reference=CUSTOM, custom_inputs_entrypoint="make")
    workload = changed(WORKLOAD)
    workload["inputs"] |= {"x": {"type": "custom"}, "weight": {"type": "custom"}}
    problem = made(definition, workload, tmp_path)
    x, weight, scale = Reference.open(problem).draw(1)
    assert scale == 2.5 and bool((x == 2.5).all()) and weight.shape == (64,)
    wrong = changed(definition, reference=CUSTOM.replace('torch.rand(given["columns"]', "torch.rand(3"))
    with pytest.raises(UsageError, match=r"input 'weight' is .*3.*the definition says \(64,\)"):
        made(wrong, workload, tmp_path)
    with pytest.raises(UsageError, match="there is no custom_inputs_entrypoint"):
        made(DEFINITION, workload, tmp_path)


def test_names_that_the_reference_has_for_itself_stay_its_own(tmp_path: Path) -> None:
    reference = """import torch

len_of = len
rows = 5


class Model:
    factor = 3.0


def get_inputs(x):
    return x * Model.factor + rows


def run(x, weight, scale):
    return get_inputs(x) * weight[:len(weight)] * scale
"""
    definition = changed(DEFINITION, reference=reference)
    definition["axes"]["len"] = {"type": "var"}
    workload = changed(WORKLOAD, axes={"rows": 96, "len": 3})
    problem = made(definition, workload, tmp_path)
    reference_ = Reference.open(problem)
    x, weight, scale = reference_.draw(1)
    torch.testing.assert_close(reference_.forward([x, weight, scale])[0], (x * 3 + 5) * weight * scale)
    assert [axis.name for axis in problem.axes] == ["rows_"]


@pytest.mark.parametrize(
    ("definition", "workload", "said"),
    [
        ({"reference": "def run(x, weight, scale):\n    return x.half()\n"}, {}, "[96, 64] of float16"),
        ({"reference": "def run(x, weight, scale):\n    return x, x\n"}, {}, "2 outputs come back"),
        ({"reference": "def run(x, weight, scale):\n    return x[:4]\n"}, {}, "run gives 'y' as [4, 64]"),
        ({"reference": "def run(x, weight, scale):\n    raise SystemExit(3)\n"}, {}, "SystemExit: 3"),
        ({"constraints": ["rows > 100"]}, {}, "the constraint 'rows > 100' does not hold"),
        ({"inputs": {**DEFINITION["inputs"], "x": {"shape": ["rows"], "dtype": "float8_e5m2"}}}, {},
         "'x' has element type float8_e5m2; allowed: "),
        ({}, {"axes": {"rows": 96, "half": 5}}, "'half' is 5 there, computed as 32"),
        ({}, {"inputs": {**WORKLOAD["inputs"], "scale": {"type": "random"}}}, "'scale' is a number"),
        ({}, {"inputs": {**WORKLOAD["inputs"], "x": {"type": "scalar", "value": 1}}}, "'x' is a tensor"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(
    definition: dict[str, Any], workload: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        made(changed(DEFINITION, **definition), changed(WORKLOAD, **workload), tmp_path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@given(st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_definitions_are_problems_or_one_line(tmp_path: Path, data: Any) -> None:
    definition, workload = data.draw(damaged(DEFINITION)), data.draw(st.just(WORKLOAD) | damaged(WORKLOAD))
    try:
        made(definition, workload, tmp_path)
    except KernelwrightError as error:
        assert error.exit_code == 2 and "\n" not in str(error)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("cuda_cpp", "is in cuda_cpp, whose host side (binding torch) is not built here; write its device"),
        ("cutlass", "is in cutlass"),
        ("triton", "is in triton, which runs on cuda, the target is cpu; give --target cuda"),
        ("tilelang", "is in tilelang"),
    ],
)
def test_a_solution_that_is_not_judged_here_is_refused_by_name(
    language: str, said: str, tmp_path: Path
) -> None:
    solution = changed(SOLUTION, spec={**SOLUTION["spec"], "languages": [language]})
    with pytest.raises(UsageError) as caught:
        solution_kernel(
            Solution.of(solution, "s"),
            Definition.of(DEFINITION, "d"),
            made(DEFINITION, WORKLOAD, tmp_path),
            CPU,
        )
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_solution_keeps_its_sources_and_says_what_it_is_passed(tmp_path: Path) -> None:
    spec = {**SOLUTION["spec"], "destination_passing_style": True, "entry_point": "src/main.py::run"}
    files = [{"path": "src/main.py", "content": WRITES}, {"path": "solution_entry.py", "content": "x = 1\n"}]
    solution = Solution.of(changed(SOLUTION, spec=spec, sources=files), "s")
    definition, problem = Definition.of(DEFINITION, "d"), made(DEFINITION, WORKLOAD, tmp_path)
    kernel = solution_kernel(solution, definition, problem, CPU)
    assert [(file.path, file.text) for file in kernel.sources[1:]] == [
        (file["path"], file["content"]) for file in files
    ]
    assert kernel.sources[0].path == "solution_entry_.py" and kernel.trust == "open"
    with pytest.raises(UsageError, match="solves 'relu_scale'; the definition given is 'other'"):
        solution_kernel(solution, Definition.of(changed(DEFINITION, name="other"), "d"), problem, CPU)
    hidden = changed(DEFINITION, axes={**DEFINITION["axes"], "k": {"type": "var"}})
    hidden["outputs"]["y"]["shape"] = ["rows", "k"]
    with pytest.raises(UsageError, match="no input tells the size of axis 'k'"):
        solution_kernel(solution, Definition.of(hidden, "d"), problem, CPU)


NASTY = ["self", "run", "entry", "given", "made", "torch", "len", "kernel", "importlib", "Model",
         "get_inputs", "int", "outputs", "float", "x", "match", "_"]  # fmt: skip


@given(st.permutations(NASTY), st.booleans())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_axes_inputs_and_outputs_may_be_called_anything(
    tmp_path: Path, names: list[str], writes: bool
) -> None:
    rows, columns, double, a, b, number, out = names[:7]
    definition = {
        "name": "n",
        "axes": {
            rows: {"type": "var"},
            columns: {"type": "const", "value": 8},
            double: {"type": "expr", "expression": f"{columns} * 2"},
        },
        "constraints": [f"{rows} > 1", f"{double} == 16"],
        "inputs": {
            a: {"shape": [rows, double], "dtype": "float32"},
            b: {"shape": [double], "dtype": "float32"},
            number: {"shape": None, "dtype": "float32"},
        },
        "outputs": {out: {"shape": [rows, double], "dtype": "float32"}},
        "reference": f"def run({a}, {b}, {number}):\n    return {a} * {b} + {number}\n",
    }
    inputs = {a: {"type": "random"}, b: {"type": "random"}, number: {"type": "scalar", "value": 3}}
    problem = made(definition, {"uuid": "u", "axes": {rows: 6}, "inputs": inputs}, tmp_path)
    text = "import torch\n\ndef run(a, b, number, *out):\n    made = a * b + number\n"
    text += "    out[0].copy_(made)\n" if writes else "    return {OUT: made}\n".replace("OUT", repr(out))
    spec = {"language": "python", "entry_point": "pkg/own.py::run", "destination_passing_style": writes}
    sources = [{"path": "pkg/own.py", "content": text}]
    solution = Solution.of({"name": "s", "definition": "n", "spec": spec, "sources": sources}, "s")
    kernel = solution_kernel(solution, Definition.of(definition, "d"), problem, CPU)
    own = types.ModuleType("pkg.own")
    exec(text, own.__dict__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pkg", types.ModuleType("pkg"))
        patch.setitem(sys.modules, "pkg.own", own)
        namespace: dict[str, Any] = {}
        exec(kernel.sources[0].text, namespace)
    reference = Reference.open(problem)
    args = reference.draw(1)
    torch.testing.assert_close(namespace["kernel"](*args)[0], reference.forward(args)[0])
