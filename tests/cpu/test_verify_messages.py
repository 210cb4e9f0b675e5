"""What verdicts say: a failure in words that fit it, and at each level what was left out."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.problem import Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.core.verdict import Level
from kernelwright.evaluate import evaluate
from kernelwright.execute.open_runner import _share
from kernelwright.execute.reports import KernelRefused
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.problems.draw import DRAWS
from kernelwright.verify.base import Case
from kernelwright.verify.expectation import Expectation
from kernelwright.verify.judge import POISON, judge
from kernelwright.verify.numeric import WORDS, _left_out

CHEATS = Path(__file__).parents[1] / "cheats"
CPU = Target.parse("cpu")


def expected(values: Tensor, tolerance: float = 1.0, limit: float = 1.0) -> Expectation:
    norm = float(values.double().norm())
    wide = torch.full(values.shape, tolerance, dtype=torch.float64)
    return Expectation("y", values, values.double(), wide, limit, 0.0, norm, 0)


def unwritten(count: int, like: Tensor) -> Tensor:
    output = like.clone()
    output[:count].view(torch.uint8).fill_(POISON)
    return output


@pytest.mark.parametrize(
    ("values", "error", "limit", "words"),
    [
        (
            torch.ones(4),
            0.5,
            0.25,
            "its relative error is 0.5, 4 times what is allowed; the worst at [0]: 1.5",
        ),
        (torch.ones(4), 0.5, 0.0, "its relative error is 0.5, where none is allowed"),
        (torch.zeros(4), 0.5, 0.25, "only zeros are expected, and the error's norm is 1, 4 times what"),
        (torch.zeros(4), 0.5, 0.0, "the error's norm is 1, where none is allowed"),
        (torch.ones(4).double(), 1e200, 0.25, "its error is too large for float64 to add up"),
    ],
    ids=["plain", "none allowed", "zeros", "zeros, none allowed", "overflow"],
)
def test_a_whole_that_is_too_far_off_is_told_without_infinities(
    values: Tensor, error: float, limit: float, words: str
) -> None:
    found = judge(values + error, expected(values, max(1.0, 2 * error), limit))
    assert found.kind is not None and found.message.startswith("y: the whole is too far off: ")
    assert words in found.message
    assert "inf" not in found.message and "nan" not in found.message


def test_elements_that_were_not_written_come_first() -> None:
    values = torch.ones(8)
    some, none = judge(unwritten(3, values), expected(values)), judge(unwritten(8, values), expected(values))
    assert some.message.startswith(
        "y: 3 of 8 elements were not written, or only added to; 3 elements are not"
    )
    assert (some.kind, none.kind) == ("answer", "work")
    assert none.message == "y: the kernel wrote nothing in this call, or only added to what lay there"


def test_integers_that_are_minus_one_count_as_written() -> None:
    values = torch.tensor([-1, -1, 2, 3])
    wanted = Expectation("y", values, values, None, 0.0, 0.0, 0.0, 0)
    message = judge(torch.tensor([-1, -1, 2, 4]), wanted).message
    assert "1 of 4 elements differ" in message and "written" not in message


def model(weight: Tensor, name: str = "weight") -> torch.nn.Module:
    made = torch.nn.Module()
    made.register_parameter(name, torch.nn.Parameter(weight))
    return made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            model(torch.ones(4).half()),
            "weight 'weight' of ModelNew is float16 [4], the reference's is float32",
        ),
        (model(torch.ones(5)), "weight 'weight' of ModelNew is float32 [5], the reference's is float32 [4]"),
        (model(torch.ones(4).half(), "scale"), r"\(scale\) are not the reference's \(weight\); call them"),
        (None, r"\(none\) are not the reference's \(weight\); call them alike"),
    ],
    ids=["type", "shape", "name and type", "none"],
)
def test_weights_that_differ_are_told_by_what_differs(made: torch.nn.Module | None, words: str) -> None:
    with pytest.raises(KernelRefused, match=words.replace("[", r"\[")):
        _share(made, {"weight": torch.ones(4)})


def test_weights_of_other_names_and_the_same_form_are_taken() -> None:
    made, weight = model(torch.ones(4), "scale"), torch.zeros(4)
    _share(made, {"weight": weight})
    assert made.scale.data_ptr() == weight.data_ptr()


def test_every_draw_is_explained() -> None:
    assert set(WORDS) == {"file", *DRAWS}


def left_out(level: Level, dtype: str = "float32", *seen: str) -> list[str]:
    inputs = (TensorSpec(name="x", dtype=dtype, shape=("4",)),)
    problem = Problem(
        name="p", source="s", normalized="s", entry=Entry(kind="path", location="m:f"), inputs=inputs
    )
    kernel = Kernel(name="k", problem=problem.hash, language="cpp", sources=(Source(path="k.cpp", text=""),))
    case = Case(problem=problem, kernel=kernel, target=CPU, level=level)
    return _left_out(case, {name: {} for name in seen})


def test_what_each_level_leaves_out_is_told_in_words() -> None:
    sizes, draws = left_out("quick", "float32", "file-0", "nonfinite-0")
    assert sizes == "sizes other than the problem's own"
    assert draws.startswith("adversarial draws: signed, negative") and "nonfinite" not in draws
    assert left_out("quick", "float32", "file-0", "small:nonfinite-0")[0].endswith("one draw at smaller ones")
    assert left_out("full", "float32", "file-0", "small:file-0") == []
    assert left_out("full", "int64") == [sizes, "adversarial values: no input is floating-point"]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("answer/replays_by_pointer.cpp", "the answer to earlier contents: "),
        ("work/nothing.cpp", "the kernel wrote nothing in this call"),
        ("answer/drops_nan.cpp", "(draw: nonfinite, with NaN and infinities here and there)"),
    ],
)
def test_a_cheat_is_told_by_what_it_does(file: str, words: str) -> None:
    problem = load_problem(str(CHEATS / "problem.py"))
    kernel = read_kernel(CHEATS / file, problem, CPU)
    verdict = evaluate(problem, kernel, CPU, "quick", baselines=[]).verdict
    assert verdict is not None and verdict.reason is not None
    assert words in verdict.reason.message


def test_an_honest_kernel_at_quick_is_said_to_be_looked_at_less() -> None:
    problem = load_problem(str(CHEATS / "problem.py"))
    kernel = read_kernel(CHEATS / "honest" / "other_order.cpp", problem, CPU)
    verdict = evaluate(problem, kernel, CPU, "quick", baselines=["eager"]).verdict
    assert verdict is not None and verdict.verdict == "accepted"
    for words in ("sizes other than", "adversarial draws: ", "changed weights", "times of several processes"):
        assert any(item.startswith(words) for item in verdict.not_checked), words


@pytest.mark.parametrize(
    ("given", "meant"), [("gpu", "cuda"), ("GPU", "cuda"), ("CUDA", "cuda"), ("host", "cpu")]
)
def test_another_word_for_a_target_is_understood(given: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        Target.parse(given)
