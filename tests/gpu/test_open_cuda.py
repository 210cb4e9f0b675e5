"""Open kernels on a GPU: those of `tests/cheats/open` and `open_cuda` get what their first lines say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from kernelwright.core.problem import Problem  # noqa: E402
from kernelwright.core.target import Target  # noqa: E402
from kernelwright.core.trial import Evaluation  # noqa: E402
from kernelwright.evaluate import evaluate  # noqa: E402
from kernelwright.execute.bench import Bench  # noqa: E402
from kernelwright.languages.kernel_file import read_kernel  # noqa: E402
from kernelwright.problems import load_problem  # noqa: E402
from kernelwright.sandbox import Limits  # noqa: E402
from kernelwright.verify.slots import Slots  # noqa: E402

CHEATS = Path(__file__).parents[1] / "cheats"
CUDA = Target.parse("cuda")
SAID = re.compile(r"# (?P<what>accepted|rejected)(?P<full> in full)?(?: \((?P<kinds>[a-z, ]+)\))?: .+")
PLAIN = sorted((CHEATS / "open").glob("*/*.py"))
OWN = sorted((CHEATS / "open_cuda").glob("*/*.py"))
NOT_HERE = {
    "finishes_later": "about threads of a host",
    "own_scratch": "about tensors that lie on a host",
    "by_sample": "contents are new for each call: nothing that was kept is handed out",
}


def opened(problem: Problem) -> Bench:
    limits = Limits.candidate(processes=8)
    return Bench.open(problem, problem.base, CUDA, limits, timeout_s=20.0, brings_python=True)


@pytest.fixture(scope="module")
def norm() -> Iterator[Slots]:
    with opened(load_problem(str(CHEATS / "problem.py"))) as bench:
        yield Slots(bench)


@pytest.fixture(scope="module")
def chain() -> Iterator[Slots]:
    with opened(load_problem(str(CHEATS / "open_cuda" / "problem.py"))) as bench:
        yield Slots(bench)


def judged(path: Path, slots: Slots) -> Evaluation:
    problem = slots.bench.problem
    return evaluate(problem, read_kernel(path, problem, CUDA), CUDA, "quick", slots, baselines=["eager"])


def deserved(path: Path, found: Evaluation) -> None:
    said = SAID.match(path.read_text().splitlines()[0])
    assert said is not None and found.verdict is not None
    assert found.verdict.verdict == said["what"], found.verdict.reason
    if said["what"] == "rejected":
        assert found.verdict.reason is not None
        assert found.verdict.reason.kind in said["kinds"].split(", "), found.verdict.reason
    else:
        assert found.measurement is not None and found.measurement.clock == "window"


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_kernels_without_a_device_of_their_own(path: Path, norm: Slots) -> None:
    said = SAID.match(path.read_text().splitlines()[0])
    if path.stem in NOT_HERE or (said and said["full"]):
        pytest.skip(NOT_HERE.get(path.stem, "about another level"))
    deserved(path, judged(path, norm))


@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_kernels_for_a_device(path: Path, chain: Slots) -> None:
    found = judged(path, chain)
    print(path.stem, found.seconds, found.measurement and found.measurement.speedups)
    deserved(path, found)


def test_an_honest_kernel_passes_in_full_on_a_bench_of_its_own() -> None:
    problem = load_problem(str(CHEATS / "open_cuda" / "problem.py"))
    kernel = read_kernel(CHEATS / "open_cuda" / "honest" / "in_place.py", problem, CUDA)
    found = evaluate(problem, kernel, CUDA, "full", baselines=["eager"])
    assert found.verdict is not None and found.verdict.verdict == "accepted", found.verdict
    assert found.measurement is not None and found.measurement.speedups
    timed = next(gate for gate in found.verdict.gates if gate.name == "timed")
    assert timed.evidence["compared"] > 0 and timed.evidence["wrong"] == 0
    print(found.seconds, found.measurement.status, found.measurement.speedups, found.measurement.environment)
