"""`benchmarks.model_zoo`: what became of a model is said, and what is a fault counts as one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from integrate_cases import ROWS, WIDTH, RootMeanSquare
from torch import nn

from benchmarks import model_zoo
from benchmarks.model_zoo import went
from benchmarks.results_table import model_zoo as table
from benchmarks.zoo_models import INPUTS, TRANSFORMERS
from kernelwright.integrate import sites
from kernelwright.integrate.proof import Compared

X = torch.randn(ROWS, WIDTH)


def norms() -> Any:
    return nn.Sequential(RootMeanSquare(), nn.Linear(WIDTH, WIDTH), RootMeanSquare()), [X]


def raises() -> Any:
    raise RuntimeError("first\nsecond")


def test_kernels_nothing_and_an_exception() -> None:
    found = went(norms, search_s=0.0, groups=1)
    assert found["outcome"] == "kernels" and found["answered"] and not found["faults"], found
    alone = went(lambda: (nn.Linear(4, 4), [torch.ones(2, 4)]), search_s=0.0, groups=1)
    assert alone["outcome"] == "left alone" and alone["left"]
    assert went(raises, search_s=0.0, groups=1) == {
        "outcome": "fault", "said": "an exception: RuntimeError: first"
    }  # fmt: skip


def test_an_unforeseen_fault_and_a_wrong_result_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [Compared(0, 0, None, None, "it is far from the original's")]
    with monkeypatch.context() as patch:
        patch.setattr(model_zoo, "compared", lambda *given: wrong)
        assert went(norms, 0.0, 1)["outcome"] == "fault"
    monkeypatch.setattr(sites, "load_problem", lambda *given, **named: raises())
    found = went(norms, 0.0, 1)
    assert found["outcome"] == "fault" and sites.UNFORESEEN in found["said"]


def test_there_are_enough_architectures_and_each_has_inputs() -> None:
    assert len(TRANSFORMERS) >= 20 and {kind for kind, _ in TRANSFORMERS.values()} <= set(INPUTS)


def test_the_table_counts_the_newest_record_of_each_model() -> None:
    row = {"family": "a", "search_s": 0.0, "groups": 1, "name": "m", "sites": ["x"], "answered": 3}
    rows = [{**row, "outcome": "fault", "said": "old"}, {**row, "outcome": "kernels", "said": ""}]
    assert "| a | none, 1 kinds of parts | 1 | 1 | 0 | 0 | 1 | 3 |" in table(rows)
    assert any("m (old)" in line for line in table(rows[:1]))
