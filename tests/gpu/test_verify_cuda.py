"""Hostile and honest kernels on a GPU: each gets what it deserves, and the next one is judged as before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from kernelwright.core.problem import Problem  # noqa: E402
from kernelwright.core.target import Target  # noqa: E402
from kernelwright.core.verdict import Verdict  # noqa: E402
from kernelwright.evaluate import evaluate  # noqa: E402
from kernelwright.execute.bench import Bench  # noqa: E402
from kernelwright.languages.kernel_file import read_kernel  # noqa: E402
from kernelwright.problems import load_problem  # noqa: E402
from kernelwright.verify.slots import Slots  # noqa: E402

CHEATS = Path(__file__).parents[1] / "cheats"
FILES = sorted((CHEATS / "cuda").glob("*/*.cu"))
HONEST = CHEATS / "cuda" / "honest" / "block_per_row.cu"
CUDA = Target.parse("cuda")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(str(CHEATS / "problem.py"))


@pytest.fixture(scope="module")
def slots(problem: Problem) -> Iterator[Slots]:
    with Bench.open(problem, problem.base, CUDA, timeout_s=5.0) as bench:
        yield Slots(bench)


def judged(path: Path, problem: Problem, slots: Slots, level: str, baselines: list[str]) -> Verdict:
    kernel = read_kernel(path, problem, CUDA)
    found = evaluate(problem, kernel, CUDA, level, slots, baselines=baselines)  # type: ignore[arg-type]
    assert found.verdict is not None
    return found.verdict


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_kernel_gets_what_it_deserves(path: Path, problem: Problem, slots: Slots) -> None:
    timed = ["eager"] if path.parent.name == "time" else []
    verdict = judged(path, problem, slots, "quick", timed)
    if path.parent.name == "honest":
        assert verdict.verdict == "accepted", verdict.reason
    else:
        assert verdict.reason is not None
        assert verdict.reason.kind == path.parent.name, verdict.reason


def test_an_honest_kernel_passes_in_full_and_is_timed(problem: Problem, slots: Slots) -> None:
    verdict = judged(HONEST, problem, slots, "full", ["eager"])
    assert verdict.verdict == "accepted", verdict.reason
    assert {"timed", "numeric", "repeat"} <= {gate.name for gate in verdict.gates if gate.status == "pass"}
