"""Large problems: the oracle row by row, one draw at a time, and what both take at their peak."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kernelwright.core.target import Target
from kernelwright.evaluate import evaluate
from kernelwright.execute import ops, sizes
from kernelwright.execute.bench import Bench
from kernelwright.execute.state import bench_state
from kernelwright.graph.capture import capture
from kernelwright.graph.oracle import oracle
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.measure.baselines import HELD_BY_GRAPHS_REASON, applicable
from kernelwright.problems.load import load_problem
from kernelwright.verify import compare, rows
from kernelwright.verify.counts import operation_counts
from kernelwright.verify.expectation import expect
from kernelwright.verify.judge import judge
from kernelwright.verify.rows import Rows, independent_rows
from kernelwright.verify.slots import Slots
from kernelwright.verify.truth import Yardstick, truth

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")
SOFTMAX = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)

rows = {rows}
columns = {columns}

def get_inputs():
    return [torch.rand(rows, columns)]

def get_init_inputs():
    return []
"""
NORM = SOFTMAX.replace("torch.softmax(x, dim=1)", "x / torch.sqrt((x * x).mean(dim=1, keepdim=True) + 1e-5)")


class WithWeights(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(48, 16)
        self.position = torch.nn.Parameter(torch.rand(60, 48))

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.gelu(self.linear(x))


class WithPosition(WithWeights):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.position[: x.shape[0]]


def found(function: Callable[..., Any], *args: Tensor) -> Rows | None:
    with torch.no_grad():
        results = function(*args)
    shapes = [out.shape for out in (results if isinstance(results, tuple) else (results,))]
    return independent_rows(function, list(args), shapes, capture(function, list(args)))


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def rms(x: Tensor, dim: int) -> Tensor:
    return x / torch.sqrt((x * x).mean(dim, keepdim=True) + 1e-5)


@pytest.mark.parametrize(
    ("function", "args", "leaves"),
    [
        (lambda x: torch.softmax(x, 1), [normal(60, 48)], {0}),
        (lambda x: rms(x, 1), [normal(60, 6, 8, 8)], {0}),
        (lambda x, y: torch.relu(x) * y, [normal(60, 48), normal(60, 48)], {0, 1}),
        (lambda x, y: x * y, [normal(60, 48), normal(48)], {0}),
        (lambda x, y: x @ y, [normal(60, 60), normal(60, 60)], {0}),
        (lambda x: (x.sum(1), x.argmax(1)), [normal(60, 48)], {0}),
        (WithWeights(), [normal(60, 48)], {0}),
    ],
    ids=["softmax", "rms", "two", "broadcast", "product", "reduced", "weights"],
)
def test_rows_that_are_independent(function: Any, args: list[Tensor], leaves: set[int]) -> None:
    cut = found(function, *args)
    assert cut is not None
    assert cut.leaves == leaves


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.softmax(x, 0),
        lambda x: x - x.mean(0),
        lambda x: x / x.abs().max(),
        lambda x: x.cumsum(0),
        lambda x: x.flip(0),
        lambda x: x.roll(1, 0),
        lambda x: x - x[0],
        lambda x: x - x[-1],
        lambda x: x - x[40],
        lambda x: x / x.shape[0],
        lambda x: x * torch.arange(x.shape[0]).unsqueeze(1),
        lambda x: torch.dropout(x, 0.5, True),
        lambda x: x.sum(),
        lambda x: x.t().contiguous(),
        WithPosition(),
        torch.nn.BatchNorm1d(48),
    ],
)
def test_rows_that_depend_on_others(function: Any) -> None:
    assert found(function, normal(60, 48)) is None


@pytest.mark.parametrize("block", [1, 7, 13, 60])
def test_parts_cover_all_rows_once(block: int) -> None:
    parts = list(Rows(torch.relu, frozenset([0]), 60, block).parts())
    assert [row for part in parts for row in range(60)[part]] == list(range(60))
    assert max(part.stop - part.start for part in parts) <= block


@pytest.mark.parametrize(
    "function", [lambda x: torch.softmax(x, 1), lambda x: rms(x, 1), lambda x: x.argmax(1)]
)
def test_row_by_row_is_the_same_truth(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BLOCK", 7 * 48)
    x = normal(60, 48)
    x[3, 3], x[50, 7] = float("nan"), float("inf")
    captured = capture(function, [x])
    yardstick = Yardstick(oracle(captured), operation_counts(captured))
    whole = truth(yardstick, [x], {}, [function(x)], 1)
    yardstick.rows = found(function, x)
    assert yardstick.rows is not None
    cut = truth(yardstick, [x], {}, [function(x)], 1)
    torch.testing.assert_close(cut[0][0], whole[0][0], rtol=1e-13, atol=0, equal_nan=True)
    if whole[1][0] is None or cut[1][0] is None:
        assert whole[1][0] is cut[1][0] is None
        return
    ratio = float(cut[1][0].double().norm() / whole[1][0].norm())
    assert 0.7 < ratio < 1.4, "the same movement, by other random signs"


def test_row_by_row_refuses_what_the_whole_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BLOCK", 7 * 512)
    x = normal(64, 512)
    softmax = lambda t: torch.softmax(t, 1)  # noqa: E731
    captured = capture(softmax, [x])
    yardstick = Yardstick(oracle(captured), operation_counts(captured), found(softmax, x))
    (exact,), (moved,) = truth(yardstick, [x], {}, [softmax(x)], 1)
    wanted = expect("out", softmax(x), exact, moved, yardstick.counts.factor)
    assert moved is not None and wanted.tolerance is not None
    assert wanted.tolerance.data_ptr() == moved.data_ptr(), "in the place of the spread"
    assert judge(softmax(x.flip(1)).flip(1), wanted).kind is None
    assert judge(softmax(x.bfloat16()).float(), wanted).kind is not None
    assert judge(softmax(x) * (1 + 1e-5), wanted).kind == "precision"


class Peak:
    """Most memory that this process had since the beginning of the block, beyond what it had there."""

    def __enter__(self) -> Peak:
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._read("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        self.nbytes = self._read("VmHWM") - self._before

    @staticmethod
    def _read(field: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


def opened(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "problem.py"
    path.write_text(text)
    problem, state = load_problem(path), dict[str, Any]()
    noun = {"problem": problem.model_dump(mode="json"), "workload": problem.base.model_dump(mode="json")}
    ops.open_problem(state, device="cpu", weights_seed=0, threads=torch.get_num_threads(), **noun)
    return state


def compared(state: dict[str, Any], slot: str, seed: int) -> dict[str, Any]:
    """Draw, and compare what eager gives, as if it had been handed over."""
    ops.draw(state, slot=slot, seed=seed, draw="file", lazily=True)
    bench = bench_state(state)
    for place in bench.slots.values():
        place.outputs = []
    bench.slot(slot).outputs = bench.reference.forward(bench.slot(slot).args)
    bench.slot(slot).rest()
    (row,) = compare.compare(state, slot=slot)
    return row


@pytest.mark.parametrize("text", [SOFTMAX, NORM], ids=["softmax", "norm"])
def test_a_large_problem_takes_few_times_its_size(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the reference's process: inputs, eager, oracle (twice), tolerance, the outputs that are compared."""
    monkeypatch.setattr(sizes, "LARGE_BYTES", 1 << 20)
    monkeypatch.setattr(rows, "BLOCK", 1 << 19)
    warm = opened(tmp_path, text.format(rows=64, columns=1 << 14))
    assert compared(warm, "a", 1)["kind"] is None
    state, size = opened(tmp_path, text.format(rows=256, columns=1 << 15)), 32 << 20
    with Peak() as peak:
        assert compared(state, "a", 1)["kind"] is None
        assert compared(state, "b", 2)["kind"] is None
    assert bench_state(state).slot("a").expected is None, "one expectation at a time"
    assert peak.nbytes < 7.5 * size


@pytest.fixture
def sparing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slots]:
    """Draws on a bench whose problem counts as large in this process."""
    monkeypatch.setattr(sizes, "LARGE_BYTES", 0)
    problem = load_problem(str(CHEATS / "problem.py"))
    with Bench.open(problem, problem.base, CPU, timeout_s=5.0) as bench:
        yield Slots(bench)


def test_one_draw_at_a_time_is_judged_as_several_are(sparing: Slots) -> None:
    problem = sparing.bench.problem
    assert sparing.timed() == ["file-0"]
    seen_in_quick = [path for path in sorted(CHEATS.glob("answer/*.cpp")) if path.stem != "stale_weights"]
    for path in (*seen_in_quick, CHEATS / "honest" / "other_order.cpp"):
        kernel = read_kernel(path, problem, CPU)
        verdict = evaluate(problem, kernel, CPU, "quick", sparing, baselines=[]).verdict
        assert verdict is not None
        honest = path.parent.name == "honest"
        assert (verdict.verdict == "accepted") is honest, f"{path.stem}: {verdict.reason}"
        assert honest or (verdict.reason is not None and verdict.reason.kind == "answer")


def test_one_draw_at_a_time_holds_one_set_of_inputs(tmp_path: Path) -> None:
    state = opened(tmp_path, NORM.format(rows=8, columns=16))
    for seed, slot in enumerate("abc"):
        ops.draw(state, slot=slot, seed=seed, draw="file")
        bench_state(state).slot(slot).outputs = [torch.ones(8, 16)]
    before = bench_state(state).slot("b").args[0].clone()
    gone = bench_state(state).slot("c").outputs[0]
    ops.hold(state, args=["b"], outputs=["a"])
    slots = bench_state(state).slots
    assert [place.held is not None for place in slots.values()] == [False, True, False]
    assert [len(place.outputs) for place in slots.values()] == [1, 0, 0]
    assert not bool((gone == 1).any()), "an answer that is given back is spoiled"
    ops.hold(state, args=["a"], outputs=[])
    ops.hold(state, args=["b"], outputs=[])
    assert torch.equal(slots["b"].args[0], before), "drawn again, the same"


def test_graphs_that_would_hold_gigabytes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem(str(CHEATS / "problem.py"))
    assert applicable(problem, "cuda", "events")["eager_graph"] is None
    monkeypatch.setattr(sizes, "LARGE_BYTES", 0)
    reasons = applicable(problem, "cuda", "events")
    left_out = {name for name, why in reasons.items() if why == HELD_BY_GRAPHS_REASON}
    assert left_out == {"compile_max_autotune", "compile_reduce_overhead", "eager_graph"}
    assert applicable(problem, "cpu", "outside")["compile_max_autotune"] is None
