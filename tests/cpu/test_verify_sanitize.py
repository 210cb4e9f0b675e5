"""Gate `sanitize`: what changes no answer and is wrong all the same is found, and honest kernels pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.verdict import GateResult, Level
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.search.campaign import open_proposals
from kernelwright.verify import sanitize
from kernelwright.verify.base import Case, run_gate

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")

pytestmark = pytest.mark.skipif(sanitize._libraries() is None, reason="the compiler has no sanitizers")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(str(CHEATS / "problem.py"))


def looked_at(problem: Problem, kernel: Kernel, level: Level = "paranoid") -> GateResult:
    case = Case(problem=problem, kernel=kernel, target=CPU, level=level)
    return run_gate(sanitize.SanitizeGate(), case)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (
            "paranoid/reads_past_end.cpp",
            ["heap-buffer-overflow", "read of size 4", "in rms_relu reads_past_end.cpp:10"],
        ),
        ("paranoid/overflows.cpp", ["signed integer overflow", "in rms_relu overflows.cpp:12"]),
        ("safety/off_by_one.cpp", ["heap-buffer-overflow", "write of size 4"]),
    ],
)
def test_what_the_other_gates_may_not_see(problem: Problem, path: str, words: list[str]) -> None:
    found = looked_at(problem, read_kernel(CHEATS / path, problem, CPU))
    assert (found.status, found.kind) == ("fail", "safety"), found
    assert all(word in found.message for word in words), found.message
    assert "\n" not in found.message


def test_hand_written_honest_kernels_pass(problem: Problem) -> None:
    found = looked_at(problem, read_kernel(CHEATS / "honest" / "with_scratch.cpp", problem, CPU))
    assert found.status == "pass", found.message
    assert found.evidence["points"]


def test_a_template_kernel_passes(problem: Problem) -> None:
    proposals = open_proposals(problem, CPU)
    found = looked_at(problem, proposals.kernel(proposals.space.default()))
    assert found.status == "pass", found.message


def test_other_levels_and_languages_say_that_they_did_not_look(problem: Problem) -> None:
    kernel = read_kernel(CHEATS / "honest" / "with_scratch.cpp", problem, CPU)
    assert "paranoid" in looked_at(problem, kernel, "full").message
    opened = read_kernel(CHEATS / "open" / "honest" / "fused.py", problem, CPU)
    assert looked_at(problem, opened).status == "skipped"


def test_a_machine_without_sanitizers_is_not_the_kernels_fault(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = read_kernel(CHEATS / "honest" / "with_scratch.cpp", problem, CPU)
    monkeypatch.setattr(sanitize, "_libraries", lambda: None)
    assert "install" in looked_at(problem, kernel).message
    monkeypatch.setattr(sanitize, "_libraries", lambda: "/nowhere/libasan.so")
    monkeypatch.setattr(sanitize, "OPTIONS", ("-g1",))
    assert looked_at(problem, kernel).status in ("pass", "skipped")
