"""Reports of compute-sanitizer, and a machine that has none of it. What the tools find is in tests/gpu."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.core.target import Target
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.verify import sanitize_cuda
from kernelwright.verify.base import Case, run_gate
from kernelwright.verify.sanitize import SanitizeGate
from kernelwright.verify.sanitize_cuda import read_report

CHEATS = Path(__file__).parents[1] / "cheats"
CUDA = Target.parse("cuda:sm_90")

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
CLEAN_RACES = (
    "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
)
OUT_OF_BOUNDS = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at rms_relu+0x1b0
=========     by thread (31,0,0) in block (95,0,0)
=========     Access at 0x7f1c4dc17700 is out of bounds
=========
========= ERROR SUMMARY: 24 errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at rms_relu+0x40
=========     and Read access at rms_relu+0x90 [128 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


@pytest.mark.parametrize("text", [CLEAN, CLEAN_RACES])
def test_a_clean_report_is_clean(text: str) -> None:
    found = read_report(text)
    assert (found.ran, found.errors) == (True, 0)


def test_the_first_error_is_told_in_one_line_with_its_place() -> None:
    found = read_report(OUT_OF_BOUNDS)
    assert (found.ran, found.errors) == (True, 24)
    assert found.first == "Invalid __global__ write of size 4 bytes at rms_relu+0x1b0"
    race = read_report(RACE)
    assert race.errors == 1 and race.first.startswith("Error: Race reported between Write access")


@pytest.mark.parametrize("text", ["", "========= COMPUTE-SANITIZER\n", "Error: unable to attach\n"])
def test_a_report_without_its_end_is_no_clean_one(text: str) -> None:
    assert not read_report(text).ran


def test_a_report_that_breaks_off_behind_an_error_counts() -> None:
    assert read_report(OUT_OF_BOUNDS.partition("=========\n")[0]).errors == 1


def test_a_machine_without_the_tools_says_so_and_nobody_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitize_cuda, "sanitizer", lambda: None)
    sanitize_cuda._lacking.cache_clear()
    problem = load_problem(str(CHEATS / "problem.py"))
    kernel = read_kernel(CHEATS / "cuda" / "honest" / "block_per_row.cu", problem, CUDA)
    case = Case(problem=problem, kernel=kernel, target=CUDA, level="paranoid")
    found = run_gate(SanitizeGate(), case)
    sanitize_cuda._lacking.cache_clear()
    assert found.status == "skipped" and "is not installed" in found.message
