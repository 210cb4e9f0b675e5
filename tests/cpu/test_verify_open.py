"""Open kernels (`ModelNew`): hostile ones in `tests/cheats/open/<kind>/` are rejected, honest ones accepted.

The first line of each says what becomes of it: `# accepted: why`, or `# rejected [in full] (kinds): why`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.sandbox import Limits
from kernelwright.verify.numeric import ANYWHERE, OWN, WORKLOADS
from kernelwright.verify.slots import Slots

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")
FILES = sorted((CHEATS / "open").glob("*/*.py"))
SAID = re.compile(r"# (?P<what>accepted|rejected)(?P<full> in full)?(?: \((?P<kinds>[a-z, ]+)\))?: .+")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(str(CHEATS / "problem.py"))


@pytest.fixture(scope="module")
def slots(problem: Problem) -> Iterator[Slots]:
    limits = Limits.candidate(processes=8)
    with Bench.open(problem, problem.base, CPU, limits, timeout_s=3.0) as bench:
        yield Slots(bench)


def judged(path: Path, problem: Problem, slots: Slots, level: Level = "quick") -> Evaluation:
    return evaluate(problem, read_kernel(path, problem, CPU), CPU, level, slots, baselines=["eager"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_open_kernel_gets_what_it_deserves(
    path: Path, problem: Problem, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OWN, "full", OWN["quick"])
    monkeypatch.setitem(ANYWHERE, "full", ANYWHERE["quick"])
    monkeypatch.setitem(WORKLOADS, "full", 0)
    said = SAID.match(path.read_text().splitlines()[0])
    assert said is not None
    found = judged(path, problem, slots, "full" if said["full"] else "quick")
    assert found.verdict is not None
    assert found.verdict.verdict == said["what"], found.verdict.reason
    if said["what"] == "rejected":
        assert found.verdict.reason is not None
        assert found.verdict.reason.kind in said["kinds"].split(", "), found.verdict.reason
        assert "\n" not in found.verdict.reason.message
    else:
        assert found.measurement is not None
        assert any("open kernel" in item for item in found.verdict.not_checked)


def test_after_all_of_them_an_honest_one_passes_on_a_bench_of_its_own(problem: Problem) -> None:
    kernel = read_kernel(CHEATS / "open" / "honest" / "fused.py", problem, CPU)
    verdict = evaluate(problem, kernel, CPU, "quick", baselines=[]).verdict
    assert verdict is not None and verdict.verdict == "accepted", verdict and verdict.reason


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_an_open_kernel_for_a_gpu_that_is_not_there_is_a_fault_of_the_machine(problem: Problem) -> None:
    kernel = read_kernel(CHEATS / "open" / "honest" / "fused.py", problem, CPU)
    with pytest.raises(EnvironmentFault, match="'cuda' cannot be used here"):
        evaluate(problem, kernel, Target.parse("cuda:sm_90"), "quick")
