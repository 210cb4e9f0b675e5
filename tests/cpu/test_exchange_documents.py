"""Documents of other projects come back as they were; what would be lost, or is none, is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exchange_cases import DEFINITION, SOLUTION, TRACE, WORKLOAD, damaged, with_unknown_fields, write_json
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.suites.exchange import arithmetic
from kernelwright.suites.exchange.definition import Definition
from kernelwright.suites.exchange.document import Document
from kernelwright.suites.exchange.solution import Solution, read_solution
from kernelwright.suites.exchange.trace import Trace
from kernelwright.suites.exchange.workload import Workload, chosen, read_workloads, workload_file

KINDS: list[tuple[type[Document], dict[str, Any]]] = [
    (Definition, DEFINITION), (Workload, WORKLOAD), (Solution, SOLUTION), (Trace, TRACE),
]  # fmt: skip
BY_NAME = pytest.mark.parametrize(
    ("kind", "content"), KINDS, ids=lambda value: getattr(value, "__name__", "")
)


def exactly(value: Any) -> str:
    """JSON text that tells 1 from 1.0 and keeps the order of keys."""
    return json.dumps(value)


@BY_NAME
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_read_is_written_back(kind: type[Document], content: dict[str, Any], data: Any) -> None:
    full = data.draw(with_unknown_fields(content))
    text = json.dumps(
        full, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1]))
    )
    read = kind.parsed(text, "it")
    assert exactly(json.loads(read.text())) == exactly(full)
    assert exactly(json.loads(kind.parsed(read.text(indent=2), "it").text())) == exactly(full)


@BY_NAME
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_damaged_content_is_a_document_or_one_line(
    kind: type[Document], content: dict[str, Any], data: Any
) -> None:
    broken = data.draw(damaged(content))
    try:
        assert exactly(json.loads(kind.parsed(json.dumps(broken), "it").text())) == exactly(broken)
    except UsageError as error:
        assert str(error).startswith("it: ") and "\n" not in str(error)


@given(st.binary(max_size=40), st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_damaged_text_is_a_document_or_one_line(tmp_path_factory: Any, junk: bytes, at: int) -> None:
    text = json.dumps(SOLUTION).encode()
    file = Path(tmp_path_factory.getbasetemp()) / "solution.json"
    file.write_bytes(text[:at] + junk + text[at + len(junk) :])
    try:
        read_solution(file)
    except UsageError as error:
        assert "\n" not in str(error) and str(file) in str(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a", "name": "b"}', "key 'name' stands twice"),
        ('{"name": 1e999}', "number 1e999 is beyond float64"),
        ('{"name": ' + "9" * 5000 + "}", "digits"),
        ("[" * 100_000, "nested too deep"),
        ("", "not JSON: Expecting value (line 1)"),
        ("[]", "a definition is a JSON object; this is a list"),
        ("{}", "not a definition: 'name': Field required"),
    ],
)
def test_what_would_be_lost_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Definition.parsed(text, "d.json")
    assert str(caught.value).startswith("d.json: ") and said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reference": "def walk(): pass"}, "'reference' defines walk; it needs 'run'"),
        ({"reference": "def run(x): return x"}, "'run' takes 1 arguments; 'inputs' has 3"),
        ({"reference": "def run(:"}, "'reference' is no Python: "),
        ({"outputs": {"x": {"shape": [], "dtype": "float32"}}}, "'x' is an input and an output"),
        ({"outputs": {"y": {"shape": ["n"], "dtype": "float32"}}}, "axis 'n'; the axes are: rows, columns"),
        ({"axes": {"rows": {"type": "const"}}}, "an axis of type const needs a 'value'"),
        ({"axes": {"rows": {"type": "expr", "expression": "f(2)"}}}, "uses Call; allowed are integers"),
        ({"axes": {"rows": {"type": "open"}}}, "'axes.rows.type' is \"open\": "),
        ({"axes": {"1x": {"type": "var"}}}, "'1x' is no name"),
        ({"axes": {"lambda": {"type": "var"}}}, "'lambda' is no name"),
        ({"axes": {"ﬁ": {"type": "var"}}}, "is no name that Python could use"),
        ({"axes": {"kernelwright_calls": {"type": "var"}}}, "begins as names that are taken do"),
        ({"constraints": ["rows =="]}, "constraint 'rows ==' is no Python"),
        ({"custom_inputs_entrypoint": "make"}, "has no function 'make'"),
    ],
)
def test_a_definition_that_does_not_fit_itself(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=r"^d\.json: not a definition: ") as caught:
        Definition.of({**DEFINITION, **change}, "d.json")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"entry_point": "kernel.py"}, "is not of the form file::function"),
        ({"entry_point": "other.py::run"}, "entry file 'other.py' is not among the sources: kernel.py"),
        ({"languages": None}, "names no language"),
    ],
)
def test_a_solution_that_does_not_fit_itself(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Solution.of({**SOLUTION, "spec": {**SOLUTION["spec"], **change}}, "s.json")
    assert said in str(caught.value)
    with pytest.raises(UsageError, match="leaves the solution"):
        Solution.of({**SOLUTION, "sources": [{"path": "../kernel.py", "content": ""}]}, "s.json")


@pytest.mark.parametrize(
    ("text", "value"),
    [("a", 6), ("a // 4 + b ** 2", 10), ("-(b - a) % 4", 3), ("a / 4 * 2", 3), ("2 * (+a)", 12)],
)
def test_sizes_are_arithmetic(text: str, value: int) -> None:
    assert arithmetic.size(text, {"a": 6, "b": 3}) == value


@pytest.mark.parametrize(
    "text",
    ["a / 4", "-a", "a ** a ** a", "1 // 0", "9 ** 64 ** 2", "c", "a.b", "[a]", "True", "a if b else 1", "",
     "(" * 300],
)  # fmt: skip
def test_what_is_no_size_is_one_line(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        arithmetic.size(text, {"a": 99, "b": 3})
    assert "\n" not in str(caught.value)


def test_workloads_of_either_project_are_found_and_chosen(tmp_path: Path) -> None:
    definition = Definition.of(DEFINITION, "d")
    place = tmp_path / "definitions" / "pointwise" / "relu_scale.json"
    place.parent.mkdir(parents=True)
    assert workload_file(place, definition) is None
    for name in ("n" * 5000, "\0", "../../x"):
        assert workload_file(place, Definition.of({**DEFINITION, "name": name}, "d")) is None
    lines = [
        {"definition": "relu_scale", "workload": {**WORKLOAD, "uuid": uuid}, "solution": None}
        for uuid in ("w-1", "w-2", "v")
    ]
    there = tmp_path / "workloads" / "pointwise" / "relu_scale.jsonl"
    there.parent.mkdir(parents=True)
    assert workload_file(place, definition) is None
    write_json(there, lines)
    assert workload_file(place, definition) == there
    found = read_workloads(there, definition)
    assert [each.uuid for each in chosen(found, ("w-",))] == ["w-1", "w-2"]
    assert [each.uuid for each in chosen(found, ())] == ["w-1", "w-2", "v"]
    assert found[0].content == WORKLOAD
    with pytest.raises(UsageError, match="no workload 'z'; allowed: v, w-1, w-2"):
        chosen(found, ("z",))
    beside = write_json(place.parent / "workload.jsonl", [WORKLOAD])
    assert workload_file(place, definition) == beside


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no workload"),
        ([WORKLOAD, WORKLOAD], "has 'w-1' twice"),
        ([{**WORKLOAD, "axes": {}}], "w-1 gives no axis 'rows'; add it"),
        ([{**WORKLOAD, "inputs": {}}], "w-1 gives no input 'x'; add it"),
        ([{**WORKLOAD, "axes": {"rows": 1, "row": 2}}], "gives 'row'; allowed"),
        ([{**WORKLOAD, "axes": {"rows": 1, "columns": 2}}], "sets 'columns' to 2; the definition says 64"),
        ([{**WORKLOAD, "axes": {"rows": -1}}], "'axes.rows' is -1"),
        ([{"definition": "other", "workload": WORKLOAD}], "a workload of 'other'"),
    ],
)
def test_workloads_that_do_not_fit(tmp_path: Path, lines: list[Any], said: str) -> None:
    file = write_json(tmp_path / "w.jsonl", lines) if lines else tmp_path / "w.jsonl"
    file.touch()
    with pytest.raises(UsageError) as caught:
        read_workloads(file, Definition.of(DEFINITION, "d"))
    assert said in str(caught.value) and "\n" not in str(caught.value)
