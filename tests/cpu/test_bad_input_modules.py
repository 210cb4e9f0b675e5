"""Live modules and functions of any kind: a result, with a note where there is no kernel, or one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from bad_input_command import shorten
from bad_input_run import cache_of_these_tests
from torch import nn

import kernelwright as kw
from kernelwright.core.errors import ProblemError, UsageError
from kernelwright.core.target import Target
from kernelwright.execute.module import KernelModule
from kernelwright.optimize import Result
from kernelwright.problems.reference import Reference
from kernelwright.search.campaign import open_proposals


@pytest.fixture(autouse=True)
def places(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(cache_of_these_tests(tmp_path_factory.getbasetemp())))
    shorten(monkeypatch.setitem)


class Branches(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x * 3


class Noisy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)


class Alone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 64))

    def forward(self) -> torch.Tensor:
        return torch.relu(self.weight) * 2


def several(x: torch.Tensor) -> tuple[Any, ...]:
    return x * 2 + 1, {"mean": (x * x).mean(), "positive": x > 0, "count": 3}


CPU = Target.parse("cpu")
X = torch.randn(64, 128)


def found(source: Callable[..., Any], inputs: Any, budget_s: float = 1.0) -> Result:
    result = kw.optimize(source, inputs, budget_s=budget_s, seed=1)
    assert set(result.report) >= {"problem", "target", "run", "trials", "seconds", "baselines", "best"}
    return result


def test_a_module_in_train_mode_is_replaced_inside_its_domain_only() -> None:
    original = nn.Sequential(nn.BatchNorm1d(128), nn.ReLU())
    result = found(original, (X,))
    assert result.report["best"] is not None, result.report["notes"]
    assert result.problem.mode == "train"
    module = result.module
    with torch.no_grad():
        module(X)
        bn: Any = original[0]
        steps, mean = int(bn.num_batches_tracked), bn.running_mean.clone()
        torch.testing.assert_close(
            module(X), nn.functional.relu(nn.functional.batch_norm(X, None, None, bn.weight, bn.bias, True))
        )
        assert module.served == 2, module.passed_on
        assert int(bn.num_batches_tracked) == steps + 1
        torch.testing.assert_close(bn.running_mean, 0.9 * mean + 0.1 * X.mean(0))
        elsewhere = [X.double(), X[:, :64].repeat(1, 2)[::2], X.t().contiguous().t()]
        for given in elsewhere[1:]:
            torch.testing.assert_close(module(given), original(given))
        module.eval()
        torch.testing.assert_close(module(X), original(X))
        module.train()
    passed = sum(module.passed_on.values())
    module(X).sum().backward()
    assert sum(module.passed_on.values()) == passed + 1
    assert bn.weight.grad is not None, "gradients still flow"


def replaced(source: Callable[..., Any], inputs: Any) -> KernelModule:
    """`source` with the first kernel that is proposed for it, judged quickly."""
    problem = kw.load_problem(source, inputs)
    proposals = open_proposals(problem, CPU)
    kernel = proposals.kernel(proposals.space.default())
    evaluation = kw.evaluate(problem, kernel, CPU, "quick", baselines=[])
    assert evaluation.verdict is not None
    assert evaluation.verdict.verdict == "accepted", evaluation.verdict.reason
    return KernelModule(source, kernel, evaluation.build, problem)


def test_a_function_with_several_outputs_keeps_their_structure() -> None:
    module = replaced(several, (X,))
    for given in (X, X, X[:7], X.double(), X.t().contiguous().t(), X.clone().requires_grad_()):
        torch.testing.assert_close(module(given), several(given))
    assert module.served >= 1
    assert sum(module.passed_on.values()) >= 3, module.passed_on
    assert module.served + sum(module.passed_on.values()) == 6


def chosen(a: torch.Tensor, b: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return torch.where(~keep, a * 2, b)


def laid_out_oddly() -> tuple[torch.Tensor, ...]:
    return torch.randn(128, 64).t(), torch.randn(1, 128).expand(64, 128), torch.rand(64, 256)[:, ::2] > 0.5


def test_a_right_kernel_is_accepted_on_inputs_of_any_layout() -> None:
    module = replaced(chosen, laid_out_oddly)
    given = laid_out_oddly()
    for _ in range(2):
        torch.testing.assert_close(module(*given), chosen(*given))
    assert module.served == 1


def test_a_number_that_depends_on_values_is_no_fault() -> None:
    problem = kw.load_problem(lambda x: x * x.sum().item(), (X,))
    with pytest.raises(ProblemError, match="depends on values"):
        open_proposals(problem, CPU)


def test_a_module_without_inputs() -> None:
    module = replaced(Alone(), ())
    with torch.no_grad():
        torch.testing.assert_close(module(), module.original())
        torch.testing.assert_close(module(), module.original())
    assert module.served == 1


@pytest.mark.parametrize(
    ("source", "inputs", "words"),
    [
        (Branches(), (X,), "data-dependent"),
        (Noisy(), (X,), "random numbers"),
    ],
    ids=["branches", "noise"],
)
def test_what_no_kernel_can_be_proposed_for_is_a_result_with_a_note(
    source: Any, inputs: Any, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    result = found(source, inputs)
    (note,) = result.report["notes"]
    assert note.startswith("no kernel can be proposed: ") and words in note and "\n" not in note
    assert (result.report["best"], result.report["trials"], result.kernel) == (None, 0, None)
    assert result.module is source
    assert capfd.readouterr() == ("", ""), "torch's own words are kept to itself"


@pytest.mark.parametrize(
    ("source", "inputs", "error", "words"),
    [
        (nn.LayerNorm(128), None, ProblemError, "without inputs"),
        (nn.LayerNorm(128), (X, X), ProblemError, "2 given"),
        (nn.LayerNorm(128), ("text",), ProblemError, "must be Tensor, not str"),
        (nn.LayerNorm(64), (X,), ProblemError, "normalized_shape"),
        (nn.LayerNorm, (X,), ProblemError, "give a file, 'module:attribute', a module object or a function"),
        (None, (X,), ProblemError, "give a file"),
        (lambda x: 1 / 0, (X,), ProblemError, "ZeroDivisionError"),
        (lambda x: x.nonzero(), (X,), ProblemError, "shape that depends on values"),
    ],
)
def test_what_does_not_fit_is_one_line(source: Any, inputs: Any, error: type[Exception], words: str) -> None:
    for work in (kw.optimize, kw.diagnose, kw.load_problem):
        with pytest.raises(error, match=words) as caught:
            work(source, inputs)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("budget_s", [float("nan"), float("inf"), -1, "3", None])
def test_a_budget_is_a_finite_number_of_seconds(budget_s: Any) -> None:
    with pytest.raises(UsageError, match="finite number of seconds, 0 or more"):
        kw.optimize(nn.LayerNorm(128), (X,), budget_s=budget_s)


def test_a_mode_is_train_or_eval() -> None:
    with pytest.raises(ProblemError, match="mode 'evil' is given; allowed: 'train', 'eval'"):
        kw.load_problem(nn.LayerNorm(128), (X,), mode="evil")  # type: ignore[arg-type]


def test_the_function_stays_when_the_module_of_its_name_is_imported() -> None:
    import kernelwright.evaluate
    import kernelwright.optimize  # noqa: F401

    assert callable(kw.optimize) and callable(kw.evaluate)
    assert kw.optimize.__module__ == "kernelwright.optimize"


@pytest.mark.parametrize("inputs", [(torch.tensor(3.0),), lambda: KEPT], ids=["scalar", "kept"])
def test_a_draw_does_not_change_what_the_source_gives(inputs: Any) -> None:
    reference = Reference.open(kw.load_problem(nn.Identity(), inputs))
    (first,) = reference.draw(1)
    before = first.clone()
    reference.draw(2, "nonfinite")
    torch.testing.assert_close(first, before)
    assert bool(torch.isfinite(reference.draw(1)[0]).all())


KEPT = [torch.ones(4, 4)]
