"""Binding: numbers come out right, and whatever does not fit is refused in one line that names it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.plan import Plan
from kernelwright.execute.bind import bind
from kernelwright.execute.bound import Address, BoundCall, BoundCopy, BoundLaunch, BoundMemset, Scalar
from kernelwright.execute.reports import PlanRefused

X = {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "cols"]}
OUT = {"name": "out", "role": "output", "dtype": "float32", "shape": ["rows", "cols"]}
TMP = {"name": "tmp", "role": "scratch", "dtype": "float32", "shape": ["rows"]}
W = {"name": "w", "role": "weight", "dtype": "float32", "shape": ["cols"]}
P = {"name": "p", "role": "prepared", "dtype": "float32", "shape": ["cols"]}
AXES = {"rows": 4, "cols": 6}


def plan(
    *run: dict[str, Any], prepare: tuple[Any, ...] = (), buffers: tuple[Any, ...] = (X, OUT, TMP, W, P)
) -> Plan:
    return Plan.model_validate({"buffers": list(buffers), "run": list(run), "prepare": list(prepare)})


def call(*args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "call", "entry": "f", "args": list(args), **more}


def launch(**more: Any) -> dict[str, Any]:
    return {"kind": "launch", "entry": "f", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [], **more}


def buffer(name: str, offset: Any = 0) -> dict[str, Any]:
    return {"kind": "buffer", "buffer": name, "offset": offset}


def integer(value: Any, dtype: str = "int64") -> dict[str, Any]:
    return {"kind": "int", "value": value, "dtype": dtype}


def test_numbers_of_a_call() -> None:
    bound = bind(plan(call(buffer("x", "cols * 2"), integer("rows * cols"), integer(-1, "int32"))), AXES)
    (step,) = bound.run
    assert isinstance(step, BoundCall)
    assert step.args == (Address("x", 48), Scalar(24), Scalar(2**64 - 1))
    assert bound.buffers["out"].shape == (4, 6)
    assert bound.buffers["out"].nbytes == 96


def test_float_arguments_keep_their_bits() -> None:
    args = [{"kind": "float", "value": 1.0}, {"kind": "float", "value": -2.0, "dtype": "float64"}]
    (step,) = bind(plan(call(*args)), AXES).run
    assert isinstance(step, BoundCall)
    assert step.args == (Scalar(0x3F800000), Scalar(0xC000000000000000))


def test_launch_numbers() -> None:
    step = launch(grid=["ceildiv(rows * cols, 8)", 1, 2], block=["cols", 1, 1], shared_bytes="rows * 1024")
    (bound,) = bind(plan(step), AXES).run
    assert isinstance(bound, BoundLaunch)
    assert (bound.grid, bound.block, bound.shared_bytes) == ((3, 1, 2), (6, 1, 1), 4096)


def test_repeat_is_unrolled_with_its_index() -> None:
    inner = call(buffer("x", "i * cols"), integer("i"))
    bound = bind(plan({"kind": "repeat", "index": "i", "count": "rows", "steps": [inner]}), AXES)
    assert [step.args for step in bound.run if isinstance(step, BoundCall)] == [
        (Address("x", i * 24), Scalar(i)) for i in range(4)
    ]


def test_after_points_into_the_unrolled_list() -> None:
    inner = [call(buffer("x")), {**call(buffer("tmp")), "stream": 1, "after": [0]}]
    repeat = {"kind": "repeat", "index": "i", "count": 2, "steps": inner}
    bound = bind(plan(call(), repeat, {**call(), "stream": 2, "after": [0, 1]}), AXES)
    assert [step.after for step in bound.run] == [(), (), (1,), (), (3,), (0, 3, 4)]


def test_memset_and_copy() -> None:
    steps = [
        {"kind": "memset", "buffer": "tmp", "byte": 255},
        {"kind": "copy", "source": "x", "destination": "out"},
    ]
    assert bind(plan(*steps), AXES).run == (
        BoundMemset(0, (), "tmp", 16, 255),
        BoundCopy(0, (), "x", "out", 96),
    )


def library(*inputs: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "library", "op": "aten.mm.out", "inputs": list(inputs), **more}


MALFORMED: dict[str, tuple[Plan, str]] = {
    "unknown buffer": (plan(call(buffer("y"))), "buffer 'y'"),
    "unknown axis": (plan(call(integer("heads"))), "axis 'heads'"),
    "no expression": (plan(call(integer("__import__('os')"))), "allowed are"),
    "division by zero": (plan(call(integer("rows // (cols - 6)"))), "cannot be computed"),
    "int32 overflow": (plan(call(integer("rows * 1000000000", "int32"))), "does not fit int32"),
    "float32 overflow": (plan(call({"kind": "float", "value": 1e300})), "does not fit float32"),
    "offset beyond the end": (plan(call(buffer("x", 25))), "element 25"),
    "negative offset": (plan(call(buffer("x", "0 - 1"))), "element -1"),
    "tensor map": (plan(call({"kind": "tensor_map", "buffer": "x", "box": [1, 1]})), "tensor_map"),
    "too many threads": (plan(launch(block=[1024, 2, 1])), "2048 threads"),
    "no threads": (plan(launch(block=[0, 1, 1])), "block [0, 1, 1]"),
    "too much shared memory": (plan(launch(shared_bytes=300_000)), "300000"),
    "grid too large": (plan(launch(grid=[1, 70000, 1])), "grid"),
    "negative grid": (plan(launch(grid=["rows - 5", 1, 1])), "grid"),
    "cluster too large": (plan(launch(grid=[32, 1, 1], cluster=[32, 1, 1])), "cluster"),
    "cluster that does not divide": (plan(launch(grid=[3, 1, 1], cluster=[2, 1, 1])), "do not divide"),
    "after itself": (plan({**call(), "after": [0]}), "waits for step 0"),
    "after a later step": (plan({**call(), "after": [1]}, call()), "waits for step 1"),
    "negative stream": (plan({**call(), "stream": -1}), "stream -1"),
    "memset byte": (plan({"kind": "memset", "buffer": "tmp", "byte": 256}), "256"),
    "copy of another size": (plan({"kind": "copy", "source": "x", "destination": "tmp"}), "same size"),
    "write to an input": (plan({"kind": "memset", "buffer": "x"}), "role input"),
    "write to a weight": (plan({"kind": "memset", "buffer": "w"}), "role weight"),
    "prepare reads an input": (plan(call(), prepare=(call(buffer("x")),)), "role input"),
    "prepared by nobody": (plan(call(buffer("p"))), "no prepare step"),
    "algorithm": (plan(library(algorithm={"id": 3})), "algorithm"),
    "library on a side stream": (plan(library(stream=1)), "stream 1"),
    "library with an object": (plan(library({"code": "x"})), "allowed are"),
    "view beyond the end": (
        plan(library({"buffer": "x", "shape": [5, 6]})), "up to element 29",
    ),
    "view with negative strides": (
        plan(library({"buffer": "x", "shape": [2], "strides": [-1]})),
        "0 or more",
    ),
    "repeat over an axis": (plan({"kind": "repeat", "index": "rows", "count": 1, "steps": []}), "is an axis"),
    "repeat without end": (plan({"kind": "repeat", "index": "i", "count": 10**9, "steps": []}), "count"),
    "repeat of repeats without end": (
        plan({"kind": "repeat", "index": "i", "count": 9999, "steps": [
            {"kind": "repeat", "index": "j", "count": 9999, "steps": [call()]}]}), "more than",
    ),
    "negative size": (plan(buffers=({**X, "shape": ["rows - 5"]},)), "0 or more"),
    "size beyond addresses": (plan(buffers=({**X, "shape": ["rows * 1000000000", 100000]},)), "at most"),
    "the same name twice": (plan(buffers=(X, X)), "declared twice"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_plans_are_refused_in_one_line(name: str) -> None:
    malformed, expected = MALFORMED[name]
    with pytest.raises(PlanRefused) as caught:
        bind(malformed, AXES)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


ITEMS = {"float64": 8, "float32": 4, "float16": 2, "int64": 8, "int8": 1}


@given(
    rows=st.integers(0, 1000),
    cols=st.integers(0, 1000),
    dtype=st.sampled_from(sorted(ITEMS)),
    width=st.integers(1, 64),
)
@settings(max_examples=60, deadline=None)
def test_sizes_are_the_product_of_the_shape(rows: int, cols: int, dtype: str, width: int) -> None:
    shape = ["rows + 1", f"cols * {width}"]
    bound = bind(plan(buffers=({**X, "dtype": dtype, "shape": shape},)), {"rows": rows, "cols": cols})
    assert bound.buffers["x"].shape == (rows + 1, cols * width)
    assert bound.buffers["x"].nbytes == (rows + 1) * cols * width * ITEMS[dtype]


@given(afters=st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_waiting_is_acyclic_or_refused(afters: list[list[int]]) -> None:
    steps = [{**call(), "after": after, "stream": index % 3} for index, after in enumerate(afters)]
    legal = all(other < index for index, after in enumerate(afters) for other in after)
    if not legal:
        with pytest.raises(PlanRefused):
            bind(plan(*steps), AXES)
        return
    bound = bind(plan(*steps), AXES)
    assert [set(step.after) for step in bound.run] == [set(after) for after in afters]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


@given(value=JSON)
@settings(max_examples=80, deadline=None)
def test_any_library_argument_binds_or_is_refused(value: Any) -> None:
    try:
        bind(plan(library(value, {"buffer": "x", "shape": value})), AXES)
    except PlanRefused as refused:
        assert str(refused)


GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_plan_and_what_it_binds_to_are_as_they_were() -> None:
    """`plan.json` is a stored plan with every step kind: reading it must not change, nor its numbers."""
    stored = json.loads((GOLDEN / "plan.json").read_text())
    parsed = Plan.model_validate(stored["plan"])
    assert parsed.model_dump(mode="json") == stored["plan"]
    bound = bind(parsed, stored["axes"])
    steps = [{"kind": type(step).__name__, **asdict(step)} for step in (*bound.prepare, *bound.run)]
    found = {"buffers": {name: one.nbytes for name, one in bound.buffers.items()}, "steps": steps}
    assert json.loads(json.dumps(found)) == json.loads((GOLDEN / "bound_plan.json").read_text())
