"""What the candidate's process takes of a large problem, and what happens where memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute import ops, sizes
from kernelwright.execute.replies import run_report
from kernelwright.execute.reports import RunReport
from kernelwright.execute.state import bench_state
from kernelwright.languages import build
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems.load import load_problem
from kernelwright.sandbox import CallFailed
from kernelwright.verify import inspect
from kernelwright.verify.base import Case
from kernelwright.verify.repeat import RepeatGate
from kernelwright.verify.slots import Slots

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")


class OneProcess:
    """A bench whose candidate's process is this one and whose reference finds nothing wrong.

    `most` is the largest sum of inputs, outputs and results that lay in its slots after any request.
    """

    device = "cpu"

    def __init__(self, problem: Problem) -> None:
        self.problem, self.workload = problem, problem.base
        self.state: dict[str, Any] = {}
        noun = {"problem": problem.model_dump(mode="json"), "workload": problem.base.model_dump(mode="json")}
        ops.open_problem(self.state, device="cpu", weights_seed=0, threads=1, **noun)
        self.candidate = SimpleNamespace(call=self._inspect, pid=1)
        self.reference = SimpleNamespace(call=lambda name, **_: [])
        self.most = 0

    def _inspect(self, name: str, timeout_s: float, **parameters: Any) -> Any:
        return self._seen(getattr(inspect, name.rpartition(":")[2]), **parameters)

    def _seen(self, work: Callable[..., Any], **parameters: Any) -> Any:
        found = work(self.state, **parameters)
        slots = bench_state(self.state).slots.values()
        leaves = pytree.tree_leaves([[place.held, place.outputs, place.result] for place in slots])
        memory = {leaf.data_ptr(): leaf.nbytes for leaf in leaves if isinstance(leaf, torch.Tensor)}
        self.most = max(self.most, sum(memory.values()))
        return found

    def draw(self, slot: str, seed: int, draw: str) -> None:
        lazily = sizes.is_large(self.problem, self.workload)
        self._seen(ops.draw, slot=slot, seed=seed, draw=draw, lazily=lazily)

    def hold(self, args: list[str], outputs: list[str]) -> None:
        self._seen(ops.hold, args=args, outputs=outputs)

    def load(self, kernel: Kernel, built: Build) -> None:
        nouns = {"kernel": kernel.model_dump(mode="json"), "build": built.model_dump(mode="json")}
        assert ops.load(self.state, **nouns) == {}

    def prepare(self) -> float:
        return float(ops.prepare(self.state)["us"])

    def run(self, slot: str) -> RunReport:
        return run_report(slot, self._seen(ops.run, slot=slot, poison=True))

    def handover(self, slot: str) -> None:
        assert bench_state(self.state).slot(slot).outputs


def judged(bench: OneProcess) -> tuple[Slots, int]:
    """An honest kernel through the gate that needs most draws; bytes of one set of inputs."""
    path = CHEATS / "honest" / "other_order.cpp"
    kernel = read_kernel(path, bench.problem, CPU)
    slots = Slots(bench)  # type: ignore[arg-type]
    made = build(kernel, CPU)
    case = Case(problem=bench.problem, kernel=kernel, target=CPU, level="quick", build=made, slots=slots)
    slots.load(kernel, made)
    result = RepeatGate().check(case)
    assert (result.status, result.evidence) == ("pass", {"deterministic": True})
    for slot in slots.timed():
        bench._seen(ops.call, subject="kernel", slot=slot)
    (x,) = bench_state(bench.state).slot("file-0").args
    return slots, x.nbytes


def test_one_set_of_inputs_and_two_of_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem(str(CHEATS / "problem.py"))
    slots, size = judged(many := OneProcess(problem))
    assert slots.timed() == ["file-0", "file-1"]
    monkeypatch.setattr(sizes, "LARGE_BYTES", 0)
    slots, size = judged(few := OneProcess(problem))
    assert slots.timed() == ["file-0"]
    assert few.most <= 3 * size < many.most


def test_where_memory_runs_out_one_draw_at_a_time_is_tried() -> None:
    bench = OneProcess(load_problem(str(CHEATS / "problem.py")))
    slots, size = judged(bench)
    bench.device = "cuda"
    asked: list[str] = []

    def short(name: str, **_: Any) -> list[Any]:
        asked.append(name)
        if len(asked) == 1:
            raise CallFailed("OutOfMemoryError", "tried to allocate 12 GiB\nWhile executing %softmax", "")
        return []

    bench.reference = SimpleNamespace(call=short)
    slots.run("file-0")
    slots.run("file-1")
    assert slots.findings("file-1") == []
    assert len(asked) == 2
    assert slots.timed() == ["file-0"]
    assert slots.ran("file-1") is False
    before, bench.most = bench.most, 0
    slots.run("file-1")
    assert bench.most <= 4 * size < before, "inputs, outputs, and results of two timed calls"


def test_where_memory_stays_short_it_is_said_in_one_line() -> None:
    bench = OneProcess(load_problem(str(CHEATS / "problem.py")))
    slots, _ = judged(bench)
    bench.device = "cuda"

    def short(name: str, **_: Any) -> None:
        raise CallFailed("OutOfMemoryError", "tried to allocate 12 GiB\nWhile executing %softmax", "")

    bench.reference = SimpleNamespace(call=short)
    slots.run("file-0")
    with pytest.raises(EnvironmentFault) as fault:
        slots.findings("file-0")
    assert str(fault.value).count("\n") == 0
    assert "ran out of memory: tried to allocate 12 GiB; take smaller inputs" in str(fault.value)
