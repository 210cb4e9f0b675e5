"""Timed calls on contents of their own: right answers pass, answers to other contents do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from test_execute_stir import add, add_in_place, held, opened
from torch import Tensor

from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.execute.state import bench_state
from kernelwright.languages import build
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.sandbox import Worker
from kernelwright.verify import fresh_ops
from kernelwright.verify.fresh import FreshContents
from kernelwright.verify.fresh_ops import compare_fresh, freshen
from kernelwright.verify.slots import Slots

BYTES = 64


def samples(outputs: list[Tensor], at: list[Any]) -> list[dict[str, Any]]:
    found = []
    for tensor, first, size in at:
        data = outputs[tensor].contiguous().view(-1).view(torch.uint8)[first : first + size]
        found.append({"tensor": tensor, "first": first, "size": size, "data": bytes(data.tolist()).hex()})
    return found


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def both(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x * y, (x > y).sum(-1)


def total(x: Tensor) -> Tensor:
    return x.square().sum() + (x[0] * x[-1]).sum()


def of_bf16(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x)


CASES = [
    (add, (torch.randn(64, 33), torch.randn(64, 33))),
    (softmax, (torch.randn(64, 33),)),
    (both, (torch.randn(64, 33), torch.randn(64, 33))),
    (total, (torch.randn(64, 33),)),
    (of_bf16, (torch.randn(64, 32).bfloat16(),)),
]


@pytest.mark.parametrize(("function", "inputs"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_right_answers_pass_and_old_ones_do_not(
    function: Callable[..., Any], inputs: tuple[Tensor, ...]
) -> None:
    state = opened(function, inputs)
    before = bench_state(state).reference.forward(held(state))
    for seed in range(5):
        found = freshen(state, slot="a", seed=seed, pieces=3, nbytes=BYTES)
        assert found["stirred"] and found["at"]
        assert all(first >= 0 and size <= BYTES for _, first, size in found["at"])
        now = bench_state(state).reference.forward(held(state))
        right = samples(now, found["at"])
        assert compare_fresh(state, slot="a", samples=right) == {"compared": len(right), "wrong": 0}
        old = samples(before, found["at"])
        assert compare_fresh(state, slot="a", samples=old)["wrong"] == len(old)
    fresh_ops.calm(state, slot="a")
    first = bench_state(state).reference.forward(held(state))
    assert compare_fresh(state, slot="a", samples=samples(first, found["at"]))["wrong"] == 0
    assert compare_fresh(state, slot="a", samples=samples(now, found["at"]))["wrong"] > 0


def steep(x: Tensor) -> Tensor:
    return torch.exp(x.sum() * 0.5)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [*CASES, (steep, (torch.randn(64, 33),))],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_of_contents_that_are_all_new_right_answers_pass_and_coarse_ones_do_not(
    function: Callable[..., Any], inputs: tuple[Tensor, ...]
) -> None:
    state = opened(function, inputs)
    coarse, stale = 0, 0
    before = bench_state(state).reference.forward(held(state))
    for seed in range(10, 18):
        found = freshen(state, slot="a", seed=seed, pieces=3, nbytes=BYTES, how="all")
        assert found["stirred"] and found["whole"]
        now = bench_state(state).reference.forward(held(state))
        right = samples(now, found["at"])
        assert compare_fresh(state, slot="a", samples=right) == {"compared": len(right), "wrong": 0}
        halves = [
            each.to(torch.float16).to(each.dtype) if each.dtype == torch.float32 else each for each in now
        ]
        coarse += compare_fresh(state, slot="a", samples=samples(halves, found["at"]))["wrong"]
        stale += compare_fresh(state, slot="a", samples=samples(before, found["at"]))["wrong"] > 0
        before = now
    assert stale > 4 or function is steep  # what is tiny beside the draw before says little
    assert coarse > 0 or now[0].dtype != torch.float32 or function is steep
    fresh_ops.calm(state, slot="a")


def test_what_cannot_be_changed_says_why() -> None:
    state = opened(add_in_place, (torch.rand(9, 7), torch.rand(9, 7)))
    found = freshen(state, slot="a", seed=1, pieces=3, nbytes=BYTES)
    assert (found["stirred"], found["at"]) == (False, []) and "in place" in found["why"]


def test_a_reference_that_refuses_changed_inputs_is_timed_on_those_that_were_drawn() -> None:
    state = opened(add, (torch.rand(64), torch.rand(64)))
    bench = bench_state(state)
    freshen(state, slot="a", seed=1, pieces=3, nbytes=BYTES)
    fresh_ops.calm(state, slot="a")
    first = [each.clone() for each in held(state)]
    bench.reference.module = refuses
    found = freshen(state, slot="a", seed=2, pieces=3, nbytes=BYTES)
    assert not found["stirred"] and "x must be sorted" in found["why"]
    assert all(torch.equal(now, was) for now, was in zip(held(state), first, strict=True))


def refuses(x: Tensor, y: Tensor) -> Tensor:
    raise ValueError("x must be sorted")


def tensor_bytes(state: dict[str, Any], slot: str) -> list[str]:
    """Worker side: the contents of a slot, in hexadecimal."""
    return [bytes(each.view(-1).view(torch.uint8).tolist()).hex() for each in held_in(state, slot)]


def held_in(state: dict[str, Any], slot: str) -> list[Tensor]:
    return list(bench_state(state).slot(slot).args)


@pytest.mark.parametrize("whole", [False, True])
def test_a_candidate_meets_new_contents_only_while_its_clock_runs(whole: bool) -> None:
    problem = load_problem(add, (torch.randn(64, 33), torch.randn(64, 33)))
    with Bench.open(problem, problem.base, Target.parse("cpu")) as bench:
        slots = Slots(bench)
        (slot, *_), witness = slots.timed(), FreshContents(slots, whole=whole)
        look = partial(bench.candidate.call, "test_verify_fresh:tensor_bytes", slot=slot)
        truth = partial(bench.reference.call, "test_verify_fresh:tensor_bytes", slot=slot)
        drawn = look()
        positions = witness.before(slot, [64 * 33 * 4], [4])
        assert len(positions) > 4
        assert look() == drawn != truth()
        for worker in (bench.candidate, bench.opponents):
            flushed: list[Worker] = []
            witness.ready(worker, flushed.append)
            assert len(flushed) == 1
            witness.started(worker)
            assert look() == truth() or worker is bench.opponents
            witness.stopped(worker)
        assert whole or look() == drawn
        witness.add(slot, positions, [None] * len(positions))
        witness.end()
        slots.settle()
        assert truth() == look() == drawn
        assert (witness.rounds, witness.moved, witness.unread) == (1, 1, len(positions))
        assert (witness.drawn_anew, witness.scribbled) == (int(whole), False)


def clipped(x: Tensor) -> Tensor:
    return torch.relu(x)


CLIPPED = """#include <cstdint>
extern "C" void clipped(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] < 0 ? 0 : x[i];
}
"""


def test_whatever_a_touch_came_to_contents_are_as_drawn_afterwards(tmp_path: Path) -> None:
    problem, cpu = load_problem(clipped, (torch.randn(64, 33),)), Target.parse("cpu")
    (tmp_path / "clipped.cpp").write_text(CLIPPED)
    kernel = read_kernel(tmp_path / "clipped.cpp", problem, cpu)
    with Bench.open(problem, problem.base, cpu) as bench:
        slots = Slots(bench)
        slots.load(kernel, build(kernel, cpu))
        slot = slots.slot("negative")
        look = partial(bench.candidate.call, "test_verify_fresh:tensor_bytes", slot=slot)
        truth = partial(bench.reference.call, "test_verify_fresh:tensor_bytes", slot=slot)
        drawn, moved = look(), 0
        for _ in range(16):
            found = slots.touched(slot)
            moved += "wrong" in found
            assert truth() == look() == drawn
            assert found.get("wrong", 0) == 0
        assert 0 < moved < 16, "half of all normal numbers are above zero"
