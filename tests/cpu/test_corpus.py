"""The corpus in `tests/cheats/corpus/`: every file says what it is; those in CI get what they deserve.

All of it is judged by `python -m benchmarks.corpus`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.corpus import CPU, as_expected, bench_for, judge
from benchmarks.corpus_kernels import CORPUS, CorpusKernel, corpus, read
from benchmarks.hostile import good_ones
from kernelwright.core.errors import UsageError
from kernelwright.core.problem import Problem
from kernelwright.evaluate import evaluate
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.verify.slots import Slots

ALL = list(corpus())
IN_CI = [one for one in ALL if one.in_ci]


class Benches:
    """One bench at a time, kept while the kernels that follow are of the same problem and kind."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._open: tuple[Path, bool] | None = None
        self._here: tuple[Problem, Slots] | None = None

    def of(self, one: CorpusKernel) -> tuple[Problem, Slots]:
        """The problem of a kernel, and draws on a bench for it."""
        wanted = (one.problem, one.is_open)
        if self._here is None or self._open != wanted:
            self._stack.close()
            problem = _problem(one.problem)
            self._open = wanted
            self._here = problem, Slots(self._stack.enter_context(bench_for(problem, one.is_open)))
        return self._here


@cache
def _problem(path: Path) -> Problem:
    return load_problem(path)


@pytest.fixture(scope="module")
def benches() -> Iterator[Benches]:
    with ExitStack() as stack:
        yield Benches(stack)


@pytest.mark.parametrize("one", IN_CI, ids=lambda one: one.name)
def test_each_gets_what_it_deserves(one: CorpusKernel, benches: Benches) -> None:
    problem, slots = benches.of(one)
    found = judge(one, problem, slots)
    assert as_expected(one, found.verdict), found.verdict.reason
    assert found.timed or one.expected == "rejected"


def test_what_one_kernel_did_to_its_process_says_nothing_of_the_next(benches: Benches) -> None:
    for name in ("default_dtype.py", "sleeps_in_warm_up.py", "default_dtype.py", "sleeps_in_warm_up.py"):
        one = read(CORPUS / "hostile" / name)
        problem, slots = benches.of(one)
        found = evaluate(problem, read_kernel(one.path, problem, CPU), CPU, "quick", slots, baselines=[])
        assert found.verdict is not None
        assert as_expected(one, found.verdict), (name, found.verdict.reason)


def compiled_into(state: dict[str, Any]) -> tuple[str, bool]:
    """Worker side: where torch's compiler keeps what it made, and whether this process may write there."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    folder = Path(cache_dir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "written").touch()
    except OSError:
        return str(folder), False
    return str(folder), True


def test_an_open_kernel_may_write_what_it_compiles(benches: Benches) -> None:
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    parents = cache_dir()  # asked for it, torch puts it into this process's environment
    _, slots = benches.of(next(one for one in IN_CI if one.is_open))
    folder, writable = slots.bench.candidate.call("test_corpus:compiled_into", timeout_s=60)
    assert writable, f"{folder}, where this process has {parents}"


def test_honest_and_hostile_kernels_of_both_trusts_are_in_ci() -> None:
    kinds = {(one.expected, one.is_open) for one in IN_CI}
    assert kinds == {
        (expected, is_open) for expected in ("accepted", "rejected") for is_open in (True, False)
    }


def test_each_hostile_kernel_has_a_good_one_beside_it() -> None:
    alone = {
        one.name for one in ALL if one.expected == "rejected" and not good_ones(one.problem, one.is_open)
    }
    assert alone == set()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("// problem: softmax\n", "begins with"),
        ("// accepted: right\n", "begins with"),
        ("// accepted: right\n// problem: softmaks\n", "no problem 'softmaks'"),
        ("// accepted: right\n// problem: elsewhere/softmax\n", "no problem"),
        ("// accepted (answer): right\n// problem: softmax\n", "in parentheses"),
        ("// rejected: wrong\n// problem: softmax\n", "in parentheses"),
        ("", "begins with"),
    ],
)
def test_a_file_that_does_not_say_what_it_is_is_refused(text: str, wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    path.write_text(text)
    with pytest.raises(UsageError, match=wrong) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_what_the_first_lines_say_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("# rejected (answer, time): keeps answers\n# problem: examples/softmax, in CI\n")
    one = read(path)
    assert (one.expected, one.kinds, one.in_ci, one.is_open) == ("rejected", {"answer", "time"}, True, True)
    assert one.problem.parent.name == "problems" and "examples" in one.problem.parts
