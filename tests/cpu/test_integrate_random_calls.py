"""Random calls of parts with kernels: never a wrong answer, and one that is wrong is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from benchmarks import model_calls
from benchmarks.call_forms import GRADS, LAYOUTS
from benchmarks.call_sites import KINDS
from benchmarks.model_calls import called, difference
from kernelwright.execute.module import KernelModule
from kernelwright.integrate.guard import Guard


@pytest.mark.filterwarnings("ignore")
def test_no_answer_is_wrong() -> None:
    found = called(calls=600, seed=1)
    assert not found.wrong, found.wrong[:3]
    counts = found.counts
    assert counts["calls"] == 600 and counts["answered"] > 60 and not counts["disagreed"]
    assert all(counts[f"part {name}"] for name in KINDS)
    assert all(counts[f"layout {name}"] for name in LAYOUTS)
    assert all(counts[f"gradients {name}"] for name in GRADS)


@dataclass
class Spoilt:
    """Answers in a kernel's place, a little wrong; can be copied and pickled as a kernel can."""

    kernel: KernelModule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = KernelModule.answer(self.kernel, *args, **kwargs)
        return result * 1.0001 if isinstance(result, torch.Tensor) else result


@pytest.mark.filterwarnings("ignore")
def test_a_kernel_that_is_a_little_wrong_is_seen() -> None:
    def spoil(guard: Guard) -> None:
        vars(guard.kernel)["answer"] = Spoilt(guard.kernel)

    assert called(calls=120, seed=2, spoil=spoil).wrong


@pytest.mark.parametrize(
    ("mine", "wanted"),
    [
        (torch.ones(2), torch.ones(3)),
        (torch.ones(2), torch.ones(2).double()),
        (torch.ones(2), torch.ones(2).requires_grad_()),
        (torch.ones(2, 2), torch.ones(2, 2).t().clone(memory_format=torch.preserve_format)),
        (torch.ones(2), 1.001 * torch.ones(2)),
        (torch.ones(2), "TypeError"),
        ({"a": torch.ones(2)}, {"b": torch.ones(2)}),
        ("ValueError", "TypeError"),
    ],
)
def test_what_counts_as_a_difference(mine: Any, wanted: Any) -> None:
    assert difference(mine, wanted, exact=False) or difference(wanted, mine, exact=False)
    assert not difference(mine, mine, exact=True) and not difference(wanted, wanted, exact=True)


def test_rounding_is_none_unless_the_original_answered() -> None:
    one = torch.ones(2)
    near = one + torch.finfo(torch.float32).eps
    assert not difference(near, one, exact=False) and difference(near, one, exact=True)


def test_a_series_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_calls, "KINDS", {"gate": KINDS["gate"]})
    one, two = (called(40, 3).counts for _ in range(2))
    drawn = [name for name in one if name.startswith(("layout", "gradients", "change"))]
    assert drawn and [one[name] for name in drawn] == [two[name] for name in drawn]
