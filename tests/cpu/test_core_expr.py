"""Expressions over axes: parsed, never run, and equal to Python's own arithmetic."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.core.expr import evaluate, holds, names

AXES = {"a": 7, "b": 12, "c": 1}

leaves = st.one_of(st.integers(0, 1000).map(str), st.sampled_from(sorted(AXES)))
arithmetic = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
    ),
    max_leaves=12,
)


@given(arithmetic)
def test_agrees_with_python(text: str) -> None:
    assert evaluate(text, AXES) == eval(text, {"min": min, "max": max}, dict(AXES))


@given(arithmetic, arithmetic)
def test_predicates_agree_with_python(left: str, right: str) -> None:
    text = f"{left} <= {right} and not {left} == {right}"
    assert holds(text, AXES) == eval(text, {"min": min, "max": max}, dict(AXES))


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_ceildiv_is_the_smallest_count_that_covers(total: int, part: int) -> None:
    count = evaluate("ceildiv(n, p)", {"n": total, "p": part})
    assert (count - 1) * part < total <= count * part


def test_names_leave_out_functions() -> None:
    assert names("ceildiv(a * 4, min(b, 3))") == {"a", "b"}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "a.b", "a[0]", "lambda: 1", "a ** 9", "'x'", "1.5", "d", "a // 0",
        "a if b else c", "(", "min(1)", "print(1)", "[1]", "True + 1", "a" * 3000, "ceildiv(1, 2, 3)", "",
    ],
)  # fmt: skip
def test_everything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as error:
        evaluate(text, AXES)
    assert "\n" not in str(error.value)


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(evaluate(text, AXES), int)
