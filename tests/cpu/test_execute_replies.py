"""Replies that a candidate could have forged: none of them is an error of the judge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.execute.replies import failure_in, microseconds, pieces, places, run_report
from kernelwright.execute.reports import CandidateFailed, Failure

ROW = {"name": "out", "address": 4096, "nbytes": 8, "dtype": "float32", "shape": [2]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["at", "us", "failure", "tensors", "elapsed_us", "name"]), inner)
    ),
    max_leaves=8,
)


def test_replies_as_they_should_be() -> None:
    report = run_report("a", {"elapsed_us": 3, "tensors": [ROW]})
    assert report.elapsed_us == 3.0 and report.tensors[0].shape == (2,)
    assert places({"at": [[4096, 8]]}) == [(4096, 8)]
    assert failure_in({"us": 1}) is None
    assert failure_in({"failure": ["contract", "no"]}) == Failure("contract", "no")


def test_positions_outside_a_tensor_cannot_be_read() -> None:
    wanted = ((0, 0, 8), (0, 4, 8), (1, 0, 4), (0, -4, 4), (-1, 0, 4))
    assert pieces([(4096, 8)], wanted) == [(4096, 8), (0, 8), (0, 4), (0, 4), (0, 4)]


@pytest.mark.parametrize(
    "reply",
    [{"failure": 3}, {"failure": ["worse", "x"]}, {"failure": ["crash"]}, [], "done", 7],
)
def test_forged_failures_are_failures(reply: Any) -> None:
    found = failure_in(reply)
    assert found is not None and found.kind == "safety"


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_any_reply_is_a_result_or_a_failure_of_the_candidate(reply: Any) -> None:
    if failure_in(reply) is not None:
        return
    for read in (lambda: run_report("a", reply), lambda: places(reply), lambda: microseconds(reply, "us")):
        try:
            read()
        except CandidateFailed as failed:
            assert failed.failure.kind == "safety"
