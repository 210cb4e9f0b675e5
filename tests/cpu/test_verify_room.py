"""What is kept of large problems, and that comparisons in slices say what one look at everything says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.problem import Problem, TensorSpec, Workload
from kernelwright.verify import compare, expectation, moved
from kernelwright.verify.expectation import Expectation

GB = 10**9


def bench(shape: tuple[int, ...], kept: int, device: str = "cuda") -> Any:
    """A pointwise function of one float32 tensor, of whose draws so many are kept already."""
    spec = TensorSpec(name="x", dtype="float32", shape=shape)
    problem = Problem.model_construct(
        inputs=(spec,), weights=(), outputs=(spec,), mutated=(), axis_sizes={}, workloads=()
    )
    tensor = torch.empty(shape, device="meta")
    one = Expectation("out", tensor, tensor.double(), tensor, 1.0, 1.0, 1.0, 0)
    slots = {str(number): SimpleNamespace(expected=[one]) for number in range(kept)}
    return SimpleNamespace(
        device=device, problem=problem, workload=Workload(name="base", axes={}), slots=slots,
        results=lambda: [("out", torch.float32, shape)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("elements", "kept", "card", "free", "room"),
    [
        (1 << 20, 20, 24, 20, True),  # small: as many draws as there are
        (1_600_000_000, 0, 150, 140, True),
        (1_600_000_000, 1, 150, 100, True),  # 26 GB each, 13 GB of tensors
        (1_600_000_000, 2, 150, 80, False),
        (1_600_000_000, 1, 80, 60, False),
        (1_600_000_000, 1, 150, 30, False),  # another's work fills the card
        (400_000_000, 1, 24, 14, False),
    ],
)
def test_draws_are_kept_as_long_as_others_have_room(
    monkeypatch: pytest.MonkeyPatch, elements: int, kept: int, card: int, free: int, room: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free * GB, card * GB))
    assert compare._room_for_one_more(bench((elements,), kept)) is room


def test_on_a_cpu_large_problems_keep_one() -> None:
    assert compare._room_for_one_more(bench((1 << 20,), 9, "cpu"))
    assert not compare._room_for_one_more(bench((1 << 30,), 1, "cpu"))


def test_where_memory_runs_out_what_is_kept_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = bench((8,), 3)
    tried: list[int] = []

    def expect(state: dict[str, Any], args: list[Any]) -> list[Expectation]:
        tried.append(sum(slot.expected is not None for slot in kept.slots.values()))
        if len(tried) == 1:
            raise torch.OutOfMemoryError("tried to allocate 12 GiB")
        return []

    monkeypatch.setattr(compare, "_expect", expect)
    monkeypatch.setattr(compare, "bench_state", lambda state: kept)
    assert compare._expect_or_make_room({}, []) == []
    assert tried == [3, 0]


numbers = st.one_of(
    st.floats(-10, 10, width=32), st.sampled_from([float("nan"), float("inf"), float("-inf"), 0.0])
)


@given(
    st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=40), st.integers(1, 9), st.booleans()
)
def test_slices_count_what_the_whole_counts(
    rows: list[tuple[float, float, float]], size: int, anew: bool
) -> None:
    data, now, old = (torch.tensor(column) for column in zip(*rows, strict=True))
    tolerance = torch.full_like(old, 1e-3)
    was = Expectation("out", old, old.double(), tolerance, 1.0, 1.0, 1.0, 0)
    largest = (1e-3, 10.0) if anew else None
    whole = int((~moved._near(data, now, old, tolerance, largest)).sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(expectation.SLICES, "cpu", size)
        assert moved.far(data, now, was, largest) == whole
