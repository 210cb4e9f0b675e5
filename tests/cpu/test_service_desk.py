"""The desk of a lane, with real workers: shared draws, fresh ones, faults, the known-good kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from service_cases import PROBLEM

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute import known_good
from kernelwright.languages import build
from kernelwright.measure.baselines import BASELINES
from kernelwright.service import desk as desks
from kernelwright.service.desk import Desk
from kernelwright.service.reader import Reader

CPU = Target.parse("cpu")
READER = Reader(CPU)


def read(body: str, problem: str = PROBLEM) -> tuple[Problem, Kernel]:
    head = '#include <cstdint>\n#include "body.h"\nextern "C" void f(const float *x, float *out, int64_t n)'
    text = f"{head} {{\n{body}\n}}\n"
    header = "static inline float one() { return 1.0f; }\n"
    return READER.read(problem, (Source(path="f.cpp", text=text), Source(path="body.h", text=header)))


GOOD = "for (int64_t i = 0; i < n; ++i) out[i] = x[i] + one();"


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    patch = pytest.MonkeyPatch()
    patch.setitem(BASELINES, "cpu", ("eager",))
    patch.setattr(desks, "SHARED", 3)
    made = Desk(CPU)
    yield made
    made.close()
    patch.undo()


def verdict(desk: Desk, body: str) -> str:
    problem, kernel = read(body)
    outcome = desk.judge(problem, kernel, build(kernel, CPU), "quick")
    assert outcome.evaluation is not None, outcome.fault
    assert outcome.evaluation.verdict is not None
    return outcome.evaluation.verdict.verdict


def test_kernels_share_draws_until_they_are_new(desk: Desk) -> None:
    assert verdict(desk, GOOD) == "accepted"
    assert desk._session is not None
    slots = desk._session.slots
    assert verdict(desk, GOOD.replace("one()", "2.0f")) == "rejected"
    assert verdict(desk, f"{GOOD} ((volatile float *)0)[0] = 1;") == "rejected"
    assert desk._session.slots is slots
    assert verdict(desk, f"{GOOD} // again") == "accepted"
    assert desk._session.slots is not slots


def test_a_problem_that_does_not_run_is_the_requests_fault(desk: Desk) -> None:
    problem, kernel = read(GOOD)
    broken = problem.model_copy(update={"source": problem.source.replace("x + 1.0", "x.no_such")})
    outcome = desk.judge(broken, kernel, build(kernel, CPU), "quick")
    assert (outcome.evaluation, outcome.by_request) == (None, True)
    assert "no_such" in outcome.fault
    assert desk._session is None  # the next one begins with fresh workers


def test_the_known_good_kernel_passes_and_a_bad_lane_does_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.check() == ""
    monkeypatch.setattr(known_good, "_CPP", known_good._CPP.replace("= x[i]", "= x[i] + 1"))
    assert "known to be right" in desk.check()


@pytest.mark.parametrize(
    "names", [("/f.cpp",), ("f.cpp", "f.cpp"), ("f.cpp", "a/b.h"), ("..",), ("",), ("f\n.cpp",)]
)
def test_names_of_sources_stay_in_their_folder(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="name of its own"):
        READER.read(PROBLEM, [Source(path=name, text="") for name in names])
