"""Packs on the command line, their problems, their documentation, and a benchmark that runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelwright.cli.main import root
from kernelwright.problems import load_problem
from kernelwright.workloads.option_pricing.benchmark import (
    OURS,
    accuracy,
    against_oracle,
    hostile,
    speed,
    traded,
)
from kernelwright.workloads.option_pricing.pack import PACK
from kernelwright.workloads.option_pricing.peers import Peer
from kernelwright.workloads.packs import PACKS, Pack, describe

ROOT = Path(__file__).parents[2]


def test_the_list_names_every_pack() -> None:
    done = CliRunner().invoke(root, ["workload", "list", "--json"])
    assert done.exit_code == 0, done.output
    assert [pack["name"] for pack in json.loads(done.output)["packs"]] == PACKS.names()
    assert "option_pricing" in CliRunner().invoke(root, ["workload", "list"]).output


def test_what_is_missing_is_said() -> None:
    absent = replace(PACK, needs=("no_such_module",), peers=("no_such_peer",))
    assert absent.unavailable() == "no_such_module not installed; pip install 'kernelwright[option-pricing]'"
    assert list(absent.absent_peers()) == ["no_such_peer"]
    assert describe(absent)["available"] is False


def test_a_pack_that_cannot_be_used_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pack, "unavailable", lambda pack: "it is not there")
    done = CliRunner().invoke(root, ["workload", "bench", "option_pricing"])
    assert "it is not there" in str(done.exception)


def test_what_was_measured_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = [{"what": "speed", "us": {"ours": 1.25}, "ci": [1.0, 1.5], "failed": None}]
    monkeypatch.setattr(
        PACKS, "get", lambda name: replace(PACK, bench=lambda: iter(measured), peers=("no_such",))
    )
    lines = CliRunner().invoke(root, ["workload", "bench", "option_pricing"]).output
    assert "what speed  us ours 1.25  ci 1 to 1.5\nno_such: not installed" in lines
    printed = CliRunner().invoke(root, ["workload", "bench", "option_pricing", "--json"]).stdout
    assert json.loads(printed)["records"] == measured and "no_such" in json.loads(printed)["absent_peers"]


def test_pricing_imports_neither_torch_nor_pandas() -> None:
    code = (
        "import sys; from kernelwright.workloads import option_pricing as op; "
        "op.price('c', 1.0, 1.0, 1.0, 0.0, 1.0); print({'torch', 'pandas', 'mpmath'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_an_unknown_pack_is_named() -> None:
    done = CliRunner().invoke(root, ["workload", "bench", "option_prices"])
    assert "did you mean 'option_pricing'" in str(done.exception)


def test_the_extra_is_declared() -> None:
    assert f"\n{PACK.extra} = [" in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("path", PACK.problems, ids=lambda path: path.stem)
def test_problems_load(path: Path) -> None:
    problem = load_problem(path)
    assert [spec.dtype for spec in problem.inputs] == ["float64"] * 5
    assert "options" in {axis.name for axis in problem.axes}


@pytest.mark.parametrize(
    "page",
    [
        "docs/option-pricing.md",
        "docs/option-pricing-drop-in.md",
        "kernelwright/workloads/option_pricing/README.md",
    ],
)
def test_examples_of_the_documentation_print_what_they_show(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / page).read_text(), re.S)
    names: dict[str, object] = {}
    for code, shown in blocks:
        with redirect_stdout(StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == shown
    assert blocks


def test_the_benchmark_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a peer that is there at once: those that are installed compile for a minute."""
    quick = Peer("quick", "1", {"implied_volatility": lambda book: lambda: sorted(book.price)}, most=10)
    monkeypatch.setattr("kernelwright.workloads.option_pricing.benchmark.peers", lambda: iter([quick]))
    for draw in (traded, hostile):
        found = accuracy(draw, 2000)
        assert found["round_trip"]["median"] <= 1 and found["volatility"]["median"] <= 1
    beside = against_oracle(traded, 3)
    assert beside["options"] == 3 and beside["price"]["worst"] < 100
    timed = speed("implied_volatility", 10)
    assert timed["us"][OURS] > 0 and set(timed["ratio"]) | {OURS} == set(timed["us"]) == {"quick", OURS}
