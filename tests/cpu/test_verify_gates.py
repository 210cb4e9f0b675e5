"""Gates that need no kernel to run: floor, timed samples, and how failures become results."""

from __future__ import annotations

import pytest
import torch

from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.measurement import Measurement, Timing
from kernelwright.core.problem import Entry, Problem
from kernelwright.core.target import Target
from kernelwright.core.verdict import GateResult
from kernelwright.execute.reports import CandidateFailed, Failure
from kernelwright.measure.floors import Floor
from kernelwright.verify import floor as floors
from kernelwright.verify.base import GATES, Case, Rejected, Seeds, run_gate
from kernelwright.verify.expectation import Spread, cut, expect
from kernelwright.verify.floor import FloorGate
from kernelwright.verify.inspect import checksum
from kernelwright.verify.judge import judge
from kernelwright.verify.timed import TimedGate

CPU = Target.parse("cpu")


def case(latency_us: float | None) -> Case:
    problem = Problem(name="p", source="s", normalized="s", entry=Entry(kind="path", location="m:f"))
    kernel = Kernel(name="k", problem=problem.hash, language="cpp", sources=(Source(path="k.cpp", text=""),))
    timing = Timing(name="kernel", latency_us=latency_us or 1.0, ci=(1.0, 1.0), samples_us=((1.0,),))
    measurement = Measurement(clock="outside", kernel=timing) if latency_us else None
    return Case(problem=problem, kernel=kernel, target=CPU, level="quick", measurement=measurement)


@pytest.mark.parametrize(("latency", "status"), [(99.0, "fail"), (100.0, "pass"), (5000.0, "pass")])
def test_faster_than_memory_is_impossible(
    latency: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(floors, "ceilings", lambda target: None)
    monkeypatch.setattr(floors, "raised", lambda target: None)
    monkeypatch.setattr(floors, "rejecting_floor", lambda *_: Floor(100.0, "memory", "so many bytes"))
    result = run_gate(FloorGate(), case(latency))
    assert (result.status, result.kind) == (status, "floor")
    assert result.evidence["rejecting_floor_us"] == 100.0


def test_ceilings_are_measured_again_before_anybody_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"kept": Floor(100.0, "memory", "busy then"), "raised": Floor(50.0, "memory", "quiet now")}
    monkeypatch.setattr(floors, "ceilings", lambda target: "kept")
    monkeypatch.setattr(floors, "raised", lambda target: "raised")
    monkeypatch.setattr(floors, "rejecting_floor", lambda problem, target, which: found[which])
    assert [run_gate(FloorGate(), case(us)).status for us in (99.0, 51.0, 49.0)] == ["pass", "pass", "fail"]


def test_what_was_not_timed_is_not_judged_by_time() -> None:
    for gate in (FloorGate(), TimedGate()):
        result = run_gate(gate, case(None))
        assert (result.status, result.message) == ("skipped", "the kernel was not timed")


def test_failures_in_the_middle_of_a_gate_are_results() -> None:
    class Failing:
        name, kind, when, needs_bench = "failing", "answer", "before", True

        def __init__(self, error: Exception) -> None:
            self._error = error

        def check(self, case: Case) -> GateResult:
            raise self._error

    rejected = run_gate(Failing(Rejected("precision", "too far", {"by": 3})), case(1.0))  # type: ignore[arg-type]
    assert (rejected.status, rejected.kind, rejected.evidence) == ("fail", "precision", {"by": 3})
    crashed = run_gate(Failing(CandidateFailed(Failure("crash", "SIGSEGV"))), case(1.0))  # type: ignore[arg-type]
    assert (crashed.status, crashed.kind, crashed.message) == ("fail", "safety", "SIGSEGV")


def test_gates_stand_in_order_of_cost() -> None:
    before, after = ["form", "build", "provenance", "contract", "numeric", "repeat"], ["timed", "floor"]
    assert GATES.names()[:8] == before + after
    assert all(GATES.get(name).name == name for name in GATES.names())


def test_seeds_are_never_given_twice() -> None:
    seeds = Seeds()
    given = [seeds.fresh() for _ in range(1000)]
    assert len(set(given)) == 1000
    assert max(given) * 1009 < 2**63, "draws derive further seeds in 64 bits"


def test_a_piece_is_judged_as_the_whole_is() -> None:
    x = torch.randn(100, 10, generator=torch.Generator().manual_seed(1))
    oracle = torch.exp(x.double())
    whole = expect("out", torch.exp(x), oracle, torch.zeros_like(oracle), 4.0)
    right = torch.exp(x).view(-1)[16:32]
    assert judge(right, cut(whole, 64, 64)).kind is None
    assert judge(right.flip(0), cut(whole, 64, 64)).kind is not None
    assert judge(right, cut(whole, 128, 64)).kind is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.uint8, torch.bool])
@pytest.mark.parametrize("count", [1, 7, 70_001])
def test_a_checksum_sees_one_changed_byte(dtype: torch.dtype, count: int) -> None:
    tensor = torch.zeros(count, dtype=dtype)
    before = checksum(tensor)
    tensor[count // 2] = 1
    assert checksum(tensor) != before
    tensor[count // 2] = 0
    assert checksum(tensor) == before


def test_a_checksum_sees_two_elements_swapped() -> None:
    tensor = torch.arange(200_000, dtype=torch.int64)
    swapped = tensor.clone()
    swapped[[5, 150_000]] = swapped[[150_000, 5]]
    assert checksum(swapped) != checksum(tensor)


def test_spread_is_the_root_mean_square_of_finite_movement() -> None:
    oracle = [torch.tensor([1.0, 2.0, float("inf")], dtype=torch.float64), torch.tensor([3])]
    spread = Spread(oracle)
    spread.add([torch.tensor([1.3, 2.0, float("inf")], dtype=torch.float64), torch.tensor([3])])
    spread.add([torch.tensor([1.4, float("nan"), 1.0], dtype=torch.float64), torch.tensor([3])])
    found, none = spread.result()
    assert none is None
    assert found is not None
    assert found.tolist() == pytest.approx([(0.125) ** 0.5, 0.0, 0.0])
