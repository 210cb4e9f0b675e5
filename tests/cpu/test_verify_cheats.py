"""Every kernel in `tests/cheats/<kind>/` is rejected for its kind; every one in `honest/` is accepted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.verify.numeric import ANYWHERE, OWN, WORKLOADS
from kernelwright.verify.slots import Slots

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")
FILES = sorted(path for path in CHEATS.glob("*/*.cpp") if path.parent.name != "paranoid")
ONLY_IN_FULL = {"stale_weights"}
"""Cheats that the quick gates do not look for."""
ALL_NEW = {"mends_changes"}
"""Cheats that only contents which are new altogether show, as `full` has them."""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(str(CHEATS / "problem.py"))


@pytest.fixture(scope="module")
def slots(problem: Problem) -> Iterator[Slots]:
    with Bench.open(problem, problem.base, CPU, timeout_s=2.0) as bench:
        yield Slots(bench)


def judged(path: Path, problem: Problem, slots: Slots, level: Level = "quick") -> Evaluation:
    kernel = read_kernel(path, problem, CPU)
    baselines = ["eager"] if path.parent.name == "time" else []
    return evaluate(problem, kernel, CPU, level, slots, baselines=baselines)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_kernel_gets_what_it_deserves(
    path: Path, problem: Problem, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OWN, "full", OWN["quick"])
    monkeypatch.setitem(ANYWHERE, "full", ANYWHERE["quick"])
    monkeypatch.setitem(WORKLOADS, "full", 0)
    level: Level = "full" if path.stem in ONLY_IN_FULL else "quick"
    if path.stem in ALL_NEW:
        monkeypatch.setattr(sys.modules["kernelwright.evaluate"], "_all_new", lambda case: True)
    verdict = judged(path, problem, slots, level).verdict
    assert verdict is not None
    if path.parent.name == "honest":
        assert verdict.verdict == "accepted", verdict.reason
    else:
        assert verdict.reason is not None
        assert verdict.reason.kind == path.parent.name, verdict.reason


@pytest.mark.parametrize("calls", range(5))
def test_no_number_of_honest_calls_hides_an_answer_that_is_handed_out_again(
    calls: int, problem: Problem, slots: Slots, tmp_path: Path
) -> None:
    text = (CHEATS / "answer" / "freezes.cpp").read_text()
    path = tmp_path / "answer" / "freezes.cpp"
    path.parent.mkdir()
    path.write_text(text.replace("honest_calls = 4", f"honest_calls = {calls}"))
    verdict = judged(path, problem, slots).verdict
    assert verdict is not None and verdict.verdict == "rejected"
    assert verdict.reason is not None and verdict.reason.kind in {"answer", "precision"}, verdict.reason


def test_an_honest_kernel_passes_in_full(problem: Problem, slots: Slots) -> None:
    evaluation = judged(CHEATS / "honest" / "other_order.cpp", problem, slots, "full")
    assert evaluation.verdict is not None
    assert evaluation.verdict.verdict == "accepted", evaluation.verdict.reason
    numeric = next(gate for gate in evaluation.verdict.gates if gate.name == "numeric")
    assert {"heavy_tailed-0", "nonfinite-0", "file-1"} <= set(numeric.evidence["draws"])
    assert sum("file" in name for name in numeric.evidence["draws"]) > 2, "other sizes were tried"


def test_no_seed_is_in_a_verdict(problem: Problem, slots: Slots) -> None:
    evaluation = judged(CHEATS / "honest" / "other_order.cpp", problem, slots)
    given = {str(seed) for seed in slots._seeds._given}
    text = evaluation.model_dump_json()
    assert given
    assert not any(seed in text for seed in given)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"problem": "0" * 32}, "contract"),
        ({"language": "fortran"}, "contract"),
        ({"domain": "rows == 5"}, "contract"),
        ({"domain": "rows ==="}, "contract"),
        ({"domain": "columns > 0"}, "contract"),
        ({"sources": ()}, "contract"),
        ({"plan": None}, "contract"),
    ],
    ids=["problem", "language", "outside", "syntax", "axis", "sources", "open"],
)
def test_form_is_refused_before_anything_is_compiled(
    change: dict[str, object], kind: str, problem: Problem, slots: Slots
) -> None:
    honest = read_kernel(CHEATS / "honest" / "other_order.cpp", problem, CPU)
    kernel: Kernel = honest.model_copy(update=change)
    evaluation = evaluate(problem, kernel, CPU, "quick", slots, baselines=[])
    assert evaluation.verdict is not None
    assert evaluation.verdict.reason is not None
    assert (evaluation.verdict.reason.gate, evaluation.verdict.reason.kind) == ("form", kind)
    assert evaluation.build.status == "failed"
    assert "build: not reached" in evaluation.verdict.not_checked


def test_a_plan_of_other_buffers_is_refused_by_name(problem: Problem, slots: Slots) -> None:
    honest = read_kernel(CHEATS / "honest" / "other_order.cpp", problem, CPU)
    assert honest.plan is not None
    buffers = tuple(
        each.model_copy(update={"shape": ("rows", "features + 1")}) if each.role == "output" else each
        for each in honest.plan.buffers
    )
    kernel = honest.model_copy(update={"plan": honest.plan.model_copy(update={"buffers": buffers})})
    verdict = evaluate(problem, kernel, CPU, "quick", slots, baselines=[]).verdict
    assert verdict is not None and verdict.reason is not None
    assert (verdict.reason.gate, verdict.reason.kind) == ("contract", "contract")
    assert "'out'" in verdict.reason.message
