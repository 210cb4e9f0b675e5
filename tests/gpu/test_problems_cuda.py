"""Problems on a GPU: made there, drawn there, and checked there in float64."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from kernelwright.core.problem import Problem  # noqa: E402
from kernelwright.graph.capture import capture  # noqa: E402
from kernelwright.graph.oracle import oracle  # noqa: E402
from kernelwright.problems import DRAWS, Reference, load_problem  # noqa: E402

FILE = """
import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 1024

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.norm = nn.BatchNorm1d(64)

    def forward(self, x):
        return F.dropout(self.norm(self.linear(x)), 0.25)

def get_inputs():
    return [torch.randn(rows, 64)]

def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    path = tmp_path_factory.mktemp("cuda") / "dropped.py"
    path.write_text(FILE)
    return load_problem(path)


@pytest.mark.parametrize("draw", ["file", *DRAWS])
def test_inputs_are_drawn_on_the_device(problem: Problem, draw: str) -> None:
    reference = Reference.open(problem, device="cuda")
    (one,), (two,), (other,) = reference.draw(1, draw), reference.draw(1, draw), reference.draw(2, draw)
    assert one.device.type == "cuda"
    assert torch.equal(one.nan_to_num(), two.nan_to_num())
    assert not torch.equal(one.nan_to_num(), other.nan_to_num())


def test_oracle_agrees_with_eager_on_the_device(problem: Problem) -> None:
    reference = Reference.open(problem, device="cuda")
    assert {tensor.device.type for tensor in reference.weights().values()} == {"cuda"}
    args = reference.draw(3)
    weights = {name: tensor.clone() for name, tensor in reference.weights().items()}
    wide = oracle(capture(reference.module, args))
    found = reference.forward(args, seed=9)
    torch.manual_seed(9)
    expected = wide(args, weights)
    assert len(found) == len(expected) == 1 + len(problem.mutated)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.double(), b.double(), rtol=1e-3, atol=1e-4)


def test_reset_on_the_device(problem: Problem) -> None:
    reference = Reference.open(problem, device="cuda")
    args = reference.draw(3)
    first = reference.forward(args, seed=1)
    reference.forward(args, seed=1)
    reference.reset()
    for a, b in zip(first, reference.forward(args, seed=1), strict=True):
        assert torch.equal(a, b)


def test_lack_of_device_memory_is_said_in_one_line(problem: Problem) -> None:
    from kernelwright.core.errors import ProblemError

    huge = problem.base.model_copy(update={"axes": {"rows": 1 << 34}})
    with pytest.raises(ProblemError, match="runs out of memory"):
        Reference.open(problem, huge, "cuda").draw(1)
