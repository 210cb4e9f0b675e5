"""Whole models before any search: which parts cost time, what they could gain, and how a model is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from integrate_cases import ROWS, WIDTH, small

import kernelwright as kw
from kernelwright.cli.diagnose import command
from kernelwright.core.errors import UsageError
from kernelwright.integrate.diagnosis import NO_TIME, _amdahl
from kernelwright.integrate.opened import opened

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.up = nn.Linear(8, width)

    def forward(self, x):
        y = self.up(x)
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)

net = Net()
def make(): return nn.Sequential(Net(), nn.LayerNorm(256))
def batch(): return torch.ones(512, 8)
batches = [torch.ones(4, 8), torch.ones(5, 8)]
number = 3
def raises(): raise OSError("gone")
"""


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    return "nets.py"


def test_what_is_to_be_won_in_a_model() -> None:
    found = kw.diagnose_model(small(), [torch.randn(ROWS, WIDTH)]).report
    parts = found["parts"]
    assert parts and found["model"] == "Small" and found["eager_us"] > 0
    for part in parts:
        assert part["floor_us"] >= part["library_us"] >= 0 and 0 < part["share"] <= 1
        assert part["name"] and part["sites"] and 1 <= part["gain"] <= found["gain"]
    taken = {name for part in parts for name in part["sites"]}
    assert not taken & set(found["left"])
    assert any("left alone" in line for line in found["summary"])
    json.dumps(found)


def test_without_time_nothing_is_looked_at() -> None:
    found = kw.diagnose_model(small(), [torch.randn(ROWS, WIDTH)], seconds=0).report
    assert found["parts"] == [] and found["gain"] == 1.0 and NO_TIME in found["left"].values()


def test_the_bound_is_amdahls() -> None:
    assert _amdahl(10.0, 0.0) == 1.0 and _amdahl(10.0, 5.0) == 2.0 and _amdahl(10.0, 10.0) is None


@pytest.mark.parametrize("name", ["make", "Net", "net"])
def test_a_model_its_class_or_what_makes_one(nets: str, name: str) -> None:
    model, batches = opened(f"{nets}:{name}", f"{nets}:batch")
    assert not model.training and len(batches) == 1 and model(*batches).shape[0] == 512


def test_a_list_is_several_batches(nets: str) -> None:
    assert len(opened(f"{nets}:make", f"{nets}:batches")[1]) == 2


@pytest.mark.parametrize(
    ("source", "inputs", "said"),
    [
        ("nets.py", "nets.py:batch", "module:attribute"),
        ("nets.py:make", None, "--inputs"),
        ("nets.py:batch", "nets.py:batch", "Tensor"),
        ("nets.py:raises", "nets.py:batch", "gone"),
        ("nets.py:make", "nets.py:raises", "gone"),
        ("nets.py:number", "nets.py:batch", "int"),
        ("nets.py:mak", "nets.py:batch", "make"),
        ("net.py:make", "nets.py:batch", "net.py"),
    ],
)
def test_what_is_no_model_is_said_in_one_line(nets: str, source: str, inputs: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        opened(source, inputs)
    assert "\n" not in str(error.value)


def test_a_model_in_train_mode_and_a_time_that_is_none() -> None:
    with pytest.raises(UsageError, match="eval"):
        kw.diagnose_model(small().train(), [torch.ones(2, WIDTH)])
    with pytest.raises(UsageError, match="finite"):
        kw.diagnose_model(small(), [torch.ones(2, WIDTH)], seconds=float("nan"))


def test_the_command_takes_a_whole_model(nets: str) -> None:
    arguments = [f"{nets}:make", "--inputs", f"{nets}:batch", "--model"]
    shown = CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False)
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and found["model"] == "Sequential" and found["parts"]
    table = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout
    assert "Sequential" in table and "whole gains at most" in table
    with pytest.raises(UsageError, match="--mode"):
        CliRunner().invoke(command, [*arguments, "--mode", "train"], catch_exceptions=False)
