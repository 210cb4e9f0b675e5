"""What the bench asks of its workers, called here in this process; and what their errors mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from execute_cases import BATCH_NORM_FILE, RELU_FILE

from kernelwright.core.errors import EnvironmentFault, InternalFault, ProblemError, UsageError
from kernelwright.core.problem import Problem
from kernelwright.execute import ops
from kernelwright.execute.faults import failure_of, our_error
from kernelwright.execute.state import bench_state
from kernelwright.problems.load import load_problem
from kernelwright.sandbox import CallFailed, WorkerDied, WorkerTimedOut


def opened(path: Path, text: str) -> dict[str, Any]:
    path.write_text(text)
    state: dict[str, Any] = {}
    open_in(state, load_problem(path))
    return state


def open_in(state: dict[str, Any], problem: Problem) -> None:
    ops.open_problem(
        state,
        problem=problem.model_dump(mode="json"),
        workload=problem.base.model_dump(mode="json"),
        device="cpu",
        weights_seed=0,
        threads=torch.get_num_threads(),
    )


def test_running_statistics_move_with_calls_and_can_be_put_back(tmp_path: Path) -> None:
    state = opened(tmp_path / "norm.py", BATCH_NORM_FILE)
    seen = bench_state(state).reference.weights()["norm.num_batches_tracked"]
    ops.draw(state, slot="a", seed=5, draw="file")
    assert ops.baseline(state, name="eager", slot="a") == {"reason": None}
    for _ in range(3):
        (at,) = ops.call(state, subject="eager", slot="a")["at"]
    assert at[1] == 64 * 8 * 4
    assert seen.item() == 5, "two calls to warm up and three timed ones"
    ops.reset(state)
    assert seen.item() == 0
    names = [name for name, _, _ in bench_state(state).results()]
    assert names == ["out", *bench_state(state).problem.mutated]


def test_other_weights_in_place_so_that_baselines_follow(tmp_path: Path) -> None:
    state = opened(tmp_path / "norm.py", BATCH_NORM_FILE)
    weight = bench_state(state).reference.weights()["norm.weight"]
    before = weight.clone()
    ops.remake_weights(state, seed=9)
    first = weight.clone()
    assert not torch.equal(first, before)
    ops.remake_weights(state, seed=9)
    assert torch.equal(weight, first)


def test_the_same_seed_draws_the_same_inputs(tmp_path: Path) -> None:
    state = opened(tmp_path / "relu.py", RELU_FILE.format(size=100))
    for slot, seed in (("a", 1), ("b", 1), ("c", 2)):
        ops.draw(state, slot=slot, seed=seed, draw="file")
    a, b, c = (bench_state(state).slot(slot).args[0] for slot in "abc")
    assert torch.equal(a, b) and not torch.equal(a, c)
    ops.drop(state, slot="a")
    with pytest.raises(UsageError, match="slot 'a' is empty"):
        ops.run(state, slot="a", poison=True)
    with pytest.raises(UsageError, match="no kernel is loaded"):
        ops.prepare(state)


def test_a_source_that_is_no_problem_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "relu.py"
    path.write_text(RELU_FILE.format(size=64))
    broken = load_problem(path).model_copy(update={"source": "x = 1"})
    path.write_text("x = 1")
    with pytest.raises(ProblemError):
        open_in({}, broken)


def test_no_problem_is_our_own_fault() -> None:
    with pytest.raises(InternalFault):
        ops.draw({}, slot="a", seed=1, draw="file")


def test_what_a_worker_error_means() -> None:
    died = WorkerDied("worker 'candidate' was ended by SIGSEGV", signal=11, code=None, stderr="")
    slow = WorkerTimedOut("worker 'candidate' did not finish", timeout_s=1.0, stderr="")
    raised = CallFailed("RuntimeError", "odd", "")
    assert [failure_of(error).kind for error in (died, slow, raised)] == ["crash", "timeout", "safety"]
    assert {failure_of(error).reason for error in (died, slow, raised)} == {"safety"}
    assert isinstance(our_error(died, "drawing"), EnvironmentFault)
    assert isinstance(our_error(raised, "drawing"), InternalFault)
    assert isinstance(our_error(CallFailed("ProblemError", "no Model", ""), "drawing"), ProblemError)
    memory = our_error(CallFailed("MemoryError", "134 MB", ""), "drawing")
    assert isinstance(memory, EnvironmentFault) and "smaller inputs" in str(memory)
