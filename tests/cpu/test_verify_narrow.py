"""Smaller sizes for adversarial draws: inside the domain, large enough, and folding as much into one."""

from __future__ import annotations

from math import prod
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.expr import evaluate, holds
from kernelwright.core.problem import Axis, Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.problems import load_problem
from kernelwright.verify.narrow import ENOUGH, narrowings
from kernelwright.verify.slots import Slots

SUMS = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x - x.sum(-1, keepdim=True), y.sum(0)


rows = 20000
tokens = 1500
features = 125


def get_inputs():
    return [torch.randn(rows, features), torch.randn(tokens, features)]


def get_init_inputs():
    return []
"""


def problem(sizes: dict[str, int]) -> Problem:
    tensor = TensorSpec(name="x", dtype="float32", shape=tuple(sizes))
    return Problem(
        name="p",
        source="",
        normalized="",
        entry=Entry(kind="path", location="m:f"),
        axes=tuple(Axis(name=name, size=size) for name, size in sizes.items()),
        inputs=(tensor,),
        outputs=(tensor.model_copy(update={"name": "out"}),),
    )


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5000), min_size=1), st.data())
def test_narrowed_sizes_lie_inside_and_are_large_enough(sizes: dict[str, int], data: st.DataObject) -> None:
    baked = data.draw(st.sets(st.sampled_from(sorted(sizes))))
    domain = " and ".join(f"{name} == {sizes[name]}" for name in sorted(baked))
    made = problem(sizes)
    for point in narrowings(made, domain):
        assert holds(domain, point.axes)
        elements = prod(evaluate(size, point.axes) for size in made.outputs[0].shape)
        assert elements >= min(ENOUGH, prod(sizes.values()))
        assert elements * 8 <= prod(sizes.values())


def test_a_kernel_for_exact_sizes_has_no_smaller_ones() -> None:
    made = problem({"rows": 9000, "columns": 900})
    assert not list(narrowings(made, "rows == 9000 and columns == 900"))
    assert [point.axes for point in narrowings(made, "columns == 900")] == [{"rows": 141, "columns": 900}]


def test_a_long_sum_is_not_tested_on_a_short_one(tmp_path: Path) -> None:
    path = tmp_path / "sums.py"
    path.write_text(SUMS)
    made = load_problem(str(path))
    domain = "features == 125"
    assert next(narrowings(made, domain)).axes["tokens"] < 1500
    with Bench.open(made, made.base, Target.parse("cpu")) as bench:
        slots = Slots(bench)
        point = slots.narrowed(domain)
        assert point is not None
        assert point.axes == {"rows": 625, "tokens": 1500, "features": 125}
        assert bench.workload == made.base
        assert slots.narrowed("features == 125 and rows == 20000") is None
