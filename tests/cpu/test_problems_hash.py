"""What a problem's hash covers, and that it does not move."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.problems import load_problem
from kernelwright.problems.constants import constants, with_constants
from kernelwright.problems.load import problem_hash
from kernelwright.problems.normalize import normalize

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "problems").glob("*.py"))
GOLDEN = json.loads((ROOT / "tests" / "golden" / "problem_hashes.json").read_text())

PLAIN = """
import torch
size = 4
def f(x, *, y: int = 3):
    return [x + y if x else f"{x:>{y}} {y!r}", 1.5e-3, "text", b"b", ...]
class C:
    a: float = 2.0
    async def g(self): yield {**{}, "k": lambda q: q}
"""
DRESSED = '''
"""A docstring."""
import torch   # a comment

size = ( 4 )


def f(
    x,
    *,
    y: int=3,
):
    """What f does."""
    return [
        x + y if x else f"{x:>{y}} {y!r}",
        0.0015, 'text', b'b', ...,
    ]


class C:
    """What C is."""

    a: float = 2.0
    "A field."

    async def g(self):
        yield {**{}, "k": (lambda q: q)}
'''


def test_the_twelve_examples_are_all_in_the_golden_file() -> None:
    assert sorted(GOLDEN) == [path.stem for path in EXAMPLES]
    assert len(GOLDEN) == 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_golden_hash(path: Path) -> None:
    assert problem_hash(path) == GOLDEN[path.stem]
    assert len(path.read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", ["batchnorm_relu", "linear_gelu"])
def test_description_of_an_example(name: str) -> None:
    problem = load_problem(ROOT / "examples" / "problems" / f"{name}.py")
    assert problem.hash == GOLDEN[name]
    assert problem.degenerate == ()
    assert problem.random == "none"
    assert len(problem.workloads) >= 5
    assert problem.compulsory_bytes is not None and problem.graph_bytes is not None
    assert 32 << 20 < problem.compulsory_bytes <= problem.graph_bytes


def test_layout_comments_and_docstrings_do_not_count() -> None:
    assert normalize(PLAIN) == normalize(DRESSED)


@pytest.mark.parametrize(
    ("old", "new"),
    [("size = 4", "size = 5"), ("x + y", "x - y"), ("*, y", "y"), ("1.5e-3", "1.5e-4"), ("async ", "")],
)
def test_anything_else_counts(old: str, new: str) -> None:
    assert old in PLAIN
    assert normalize(PLAIN) != normalize(PLAIN.replace(old, new))


def test_normalized_text_is_written_by_our_own_rules() -> None:
    assert normalize("x = f(1, k='a')") == (
        "(Module body=[(Assign targets=[(Name id='x')] value=(Call func=(Name id='f') "
        "args=[(Constant value=1)] keywords=[(keyword arg='k' value=(Constant value='a'))]))])"
    )


def test_normalized_text_is_the_same_in_every_python() -> None:
    assert hashlib.sha256(normalize(PLAIN).encode()).hexdigest()[:16] == "d49b44aa777d41f2"


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "d_0", "d_1"]), st.integers(1, 10**9)))
def test_changed_constants_are_read_back(changed: dict[str, int]) -> None:
    import ast

    tree = ast.parse("a, b = 3, 2 * 8\nc: int = 1 << 4\nd = [5, 6]\ne = a * 2\nf = 'no'\ng = True\n")
    given_values = {"a": 3, "b": 16, "c": 16, "d_0": 5, "d_1": 6}
    assert constants(tree) == given_values
    altered = with_constants(tree, changed)
    assert constants(altered) == {**given_values, **changed}
    namespace: dict[str, object] = {}
    exec(compile(altered, "constants", "exec"), namespace)
    assert namespace["e"] == 2 * changed.get("a", 3)
    assert constants(tree) == given_values
