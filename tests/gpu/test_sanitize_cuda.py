"""compute-sanitizer on a GPU: what changes no answer is found by the tool for it, honest kernels pass."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from kernelwright.core.problem import Problem  # noqa: E402
from kernelwright.core.target import Target  # noqa: E402
from kernelwright.core.verdict import GateResult  # noqa: E402
from kernelwright.languages import build  # noqa: E402
from kernelwright.languages.kernel_file import read_kernel  # noqa: E402
from kernelwright.problems import load_problem  # noqa: E402
from kernelwright.verify.base import Case, run_gate  # noqa: E402
from kernelwright.verify.sanitize import SanitizeGate  # noqa: E402
from kernelwright.verify.sanitize_cuda import tools_that_run  # noqa: E402

CHEATS = Path(__file__).parents[1] / "cheats"
CUDA = Target.parse("cuda")
FOUND_BY = {"reads_past_end": "memcheck", "no_barrier": "racecheck", "reads_unwritten": "initcheck"}


@pytest.fixture(scope="module")
def problem() -> Problem:
    lacking = tools_that_run(CUDA)
    print(lacking)
    if all(lacking.values()):
        pytest.skip(next(iter(lacking.values())))
    return load_problem(str(CHEATS / "problem.py"))


def looked_at(problem: Problem, path: Path) -> GateResult:
    kernel = read_kernel(path, problem, CUDA)
    case = Case(problem=problem, kernel=kernel, target=CUDA, level="paranoid", build=build(kernel, CUDA))
    return run_gate(SanitizeGate(), case)


@pytest.mark.parametrize(("name", "tool"), FOUND_BY.items())
def test_what_changes_no_answer_is_found(problem: Problem, name: str, tool: str) -> None:
    if tools_that_run(CUDA)[tool]:
        pytest.skip(tools_that_run(CUDA)[tool])
    found = looked_at(problem, CHEATS / "cuda_paranoid" / f"{name}.cu")
    assert (found.status, found.kind) == ("fail", "safety"), found
    assert found.message.startswith(f"{tool}: ") and "rms_relu" in found.message


def test_an_honest_kernel_passes(problem: Problem) -> None:
    found = looked_at(problem, CHEATS / "cuda" / "honest" / "block_per_row.cu")
    assert found.status == "pass", found.message
    assert found.evidence["tools"] and found.evidence["points"]
