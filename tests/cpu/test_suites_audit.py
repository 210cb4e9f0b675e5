"""Audits: what is found in folders and JSON lines, rows and counts, and going on where one stopped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from bad_input_run import call
from exchange_cases import DEFINITION, SOLUTION, WORKLOAD, write_json

from kernelwright.cli.table import print_audit
from kernelwright.core.errors import UsageError
from kernelwright.core.target import Target
from kernelwright.measure.baselines import BASELINES
from kernelwright.suites import audit as audits
from kernelwright.suites.audit import audit, summary
from kernelwright.suites.candidate import Candidate
from kernelwright.suites.candidates import candidates

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sealed kernels and an open one beside their reference, and something else."""
    place = tmp_path / "kernels" / "rms"
    place.mkdir(parents=True)
    shutil.copy(CHEATS / "problem.py", place / "reference.py")
    for path in ("honest/other_order.cpp", "answer/constant.cpp", "open/honest/fused.py"):
        shutil.copy(CHEATS / path, place)
    (place / "notes.txt").write_text("not a kernel")
    return tmp_path / "kernels"


def test_rows_and_counts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BASELINES, "cpu", ("eager",))
    (folder / "rms" / "broken.cpp").write_text("void nothing();")
    found, heard, ledger = candidates(folder), list[dict[str, Any]](), tmp_path / "out" / "audit.jsonl"
    assert [one.name for one in found] == [
        f"rms/{name}" for name in ("broken.cpp", "constant.cpp", "fused.py", "other_order.cpp")
    ]
    document = summary(audit(found, CPU, "quick", ledger=ledger, on_row=heard.append))
    assert [row["verdict"] for row in heard] == ["unjudged", "rejected", "accepted", "accepted"]
    assert (document["candidates"], document["accepted"], document["unjudged"]) == (4, 2, 1)
    assert document["rejected"] == {"answer": 1}
    assert "no function of the form" in heard[0]["reason"]["message"]
    assert heard[2]["trust"] == "open" and heard[3]["speedup"] > 0
    assert {row["level"] for row in (document, *heard)} == {"quick"} and "status_reason" in heard[3]
    assert json.loads(json.dumps(document)) == document

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr(audits, "evaluate", never)
    with ledger.open("a") as file:
        file.write('{"key": "torn')
    again = summary(audit(candidates(folder), CPU, "quick", ledger=ledger))
    assert again["rows"] == document["rows"]


def test_lines_with_known_and_with_named_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    reference = (CHEATS / "problem.py").read_text()
    kernel = (CHEATS / "honest" / "other_order.cpp").read_text()
    opened = (CHEATS / "open" / "honest" / "fused.py").read_text()
    rows = [
        {"name": "sealed", "reference": reference, "kernel": kernel},
        {"ref_code": reference, "custom_code": opened},
        {"reference": reference, "mine": kernel},
    ]
    file = tmp_path / "published.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\nno json\n[1]\n")
    found = candidates(file)
    assert [one.name for one in found] == ["sealed", *(f"published.jsonl:{line}" for line in (2, 3, 5, 6))]
    assert [bool(one.fault) for one in found] == [False, False, True, True, True]
    assert found[0].kernel.suffix == ".cpp" and found[0].kernel.read_text() == kernel
    assert found[1].kernel.suffix == ".py" and Path(found[1].reference).read_text() == reference
    assert "fields: mine, reference" in found[2].fault
    named = candidates(file, keys=(None, "mine"))
    assert [bool(one.fault) for one in named] == [True, True, False, True, True]


def test_a_reference_that_does_not_load_is_said_once_for_each_of_its_kernels(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text("import torch\n")
    found = [Candidate(name, str(tmp_path / "problem.py"), tmp_path / name) for name in ("a.cpp", "b.cpp")]
    rows = audit(found, CPU, "quick")
    assert [row["verdict"] for row in rows] == ["unjudged", "unjudged"]
    assert all("has no 'Model'" in row["reason"]["message"] for row in rows)


@pytest.mark.parametrize(
    ("text", "verdict", "kinds"),
    [
        ("def kernel(x:\n", "rejected", {"build"}),
        ("class ModelNew(torch.nn.Module):\n    def forward(self, x) return x\n", "rejected", {"build"}),
        ("class ModelNew(nn.Module):\n    pass\n", "rejected", {"build", "safety", "contract"}),
        ("import torch\n", "unjudged", {None}),
    ],
    ids=["bracket", "colon", "name", "no entry"],
)
def test_a_kernel_that_is_no_python_is_rejected(
    text: str, verdict: str, kinds: set[str | None], folder: Path
) -> None:
    path = folder / "rms" / "broken.py"
    path.write_text(text)
    (row,) = audit([Candidate("broken", str(folder / "rms" / "reference.py"), path)], CPU, "quick")
    assert row["verdict"] == verdict and row["reason"].get("kind") in kinds, row["reason"]


def test_solutions_of_either_layout_are_judged_at_each_workload(tmp_path: Path) -> None:
    lines = [WORKLOAD, {**WORKLOAD, "uuid": "w-2", "axes": {"rows": 40}}]
    broken = {**SOLUTION, "sources": [{"path": "kernel.py", "content": "def run(:\n"}]}
    folder, kind = tmp_path / "sol" / "one", tmp_path / "trace"
    for place in (folder, kind / "definitions" / "op", kind / "workloads" / "op", kind / "solutions" / "op"):
        place.mkdir(parents=True)
    write_json(folder / "definition.json", DEFINITION)
    write_json(folder / "workload.jsonl", lines)
    write_json(folder / "solution.json", broken)
    (folder / "reference.py").write_text("def run(): pass\n")
    write_json(kind / "definitions" / "op" / "relu_scale.json", DEFINITION)
    write_json(kind / "workloads" / "op" / "relu_scale.jsonl", lines[:1])
    write_json(kind / "solutions" / "op" / "broken.json", {**broken, "name": "b"})
    write_json(kind / "solutions" / "op" / "other.json", {**broken, "definition": "other"})
    write_json(kind / "solutions" / "op" / "half.json", {"spec": 1, "definition": "relu_scale"})
    (kind / "notes.json").write_text("{")
    found = candidates(tmp_path)
    assert [(one.name, bool(one.fault)) for one in found] == [
        ("sol/one/solution.json at w-1", False),
        ("sol/one/solution.json at w-2", False),
        ("trace/solutions/op/broken.json at w-1", False),
        ("trace/solutions/op/half.json", True),
        ("trace/solutions/op/other.json", True),
    ]
    assert Path(found[2].reference).parent.name == "op", "the nearest definition of that name"
    rows = audit(found, CPU, "quick")
    assert [row["verdict"] for row in rows] == ["rejected"] * 3 + ["unjudged"] * 2
    assert {row["reason"]["kind"] for row in rows[:3]} == {"build"}
    assert len({row["key"] for row in rows[:3]}) == 2, "the same at the same workload"
    assert "not a solution" in rows[3]["reason"]["message"]
    assert "no definition 'other' in the folder" in rows[4]["reason"]["message"]


def test_a_table_names_the_level_and_why_a_time_is_unresolved(capsys: pytest.CaptureFixture[str]) -> None:
    judged = {"name": "k", "level": "quick", "verdict": "accepted", "reason": None, "status": "unresolved"}
    rows = [{**judged, "status_reason": "shorter than the clock tells"}]
    print_audit(
        summary([*rows, {"name": "f", "level": "quick", "verdict": "unjudged", "reason": {"message": "m"}}])
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "unresolved: shorter than the clock tells" in said
    assert "2 candidates: 1 accepted at quick, 0 rejected, 1 could not be judged" in said


def test_the_page_of_an_audit_holds_its_rows(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text("import torch\n")
    (tmp_path / "<b>.cpp").write_text("")
    page = tmp_path / "pages" / "audit.html"
    assert call("audit", tmp_path, "--level", "quick", "--html", page).code == 0
    text = page.read_text()
    assert "&lt;b&gt;.cpp" in text and "<b>.cpp" not in text and "has no &#39;Model&#39;" in text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda place: place / "gone", "does not exist"),
        (lambda place: place, "no candidates"),
        (lambda place: _written(place / "one.cpp"), "neither a folder nor a .jsonl"),
        (lambda place: _written(place / "empty.jsonl"), "no candidates"),
    ],
)
def test_nothing_to_audit_is_said_in_one_line(tmp_path: Path, make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        candidates(make(tmp_path))


def _written(path: Path) -> Path:
    path.write_text("")
    return path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not a line of JSON"),
        ("[" * 100_000, "not a line of JSON: maximum recursion depth"),
        ("9" * 5000, "not a line of JSON: Exceeds the limit"),
        ("\0", "not a line of JSON"),
        ("3", "must be a JSON object"),
        ('{"kernel": 3, "reference": []}', "no text of a reference; fields: kernel, reference"),
        ('{"kernel": "\\ud800", "reference": "x"}', "half of a surrogate pair"),
    ],
    ids=range(7),
)
def test_a_line_that_is_none_is_a_candidate_with_a_reason(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    (tmp_path / "all.jsonl").write_text(
        f"{line}\n" + json.dumps({"kernel": "k\r\n", "reference": "r"}) + "\n"
    )
    bad, good = candidates(tmp_path / "all.jsonl")
    assert words in bad.fault and "\n" not in bad.fault
    assert (good.fault, good.kernel.read_bytes()) == ("", b"k\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "garbage\n",
        "[]\n",
        '{"key": "k"}\n',
        '{"schema": 1, "kind": "run", "id": "r-1"}\n',
        "[" * 100_000 + "\n",
    ],
)
def test_a_ledger_of_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"no ledger of an audit .*give --output another file"):
        audit([Candidate("a", "", tmp_path, "fault")], CPU, ledger=path)
    assert path.read_text() == text
    path.write_text("\n")
    assert audit([Candidate("a", "", tmp_path, "fault")], CPU, ledger=path)[0]["verdict"] == "unjudged"


def test_an_interrupt_keeps_the_rows_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(audits, "_problem", interrupted)
    lines = ["{", json.dumps({"kernel": "k", "reference": "r"}), "{"]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    done = call("audit", tmp_path / "all.jsonl", "--json")
    assert (done.code, len(json.loads(done.out)["rows"])) == (130, 1)
    assert "interrupted: 2 candidates were not judged" in done.err
    (tmp_path / "all.jsonl").write_text("\n".join(lines[1:]))
    done = call("audit", tmp_path / "all.jsonl", "--json")
    assert (done.code, done.out, done.error) == (130, "", "interrupted")


def test_all_kernels_of_a_folder_for_one_problem() -> None:
    found = candidates(CHEATS / "honest", str(CHEATS / "problem.py"))
    assert {"double_accumulator.cpp", "other_order.cpp", "with_scratch.cpp"} <= {one.name for one in found}
