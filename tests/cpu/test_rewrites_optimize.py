"""The whole path on a problem whose time is won by algebra: found, verified, faster, and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kernelwright as kw
from kernelwright.core.target import Target
from kernelwright.graph.rewrites.sums import SUMS
from kernelwright.measure.baselines import BASELINES
from kernelwright.measure.ceilings import Ceilings
from kernelwright.measure.floors import least_flops, reporting_floor
from kernelwright.measure.stopping import RULES, Rule
from kernelwright.problems import load_problem
from kernelwright.search.campaign import open_proposals
from kernelwright.search.diagnosis import _forms, _graph
from kernelwright.store.jsonl import JsonLinesStore

SLOW = Ceilings(
    target="cpu", device="any", identity={}, read_gbs=20.0, write_gbs=20.0, copy_gbs=20.0, fp32_tflops=0.1,
    llc_bytes=1 << 20, measured_at="2026-12-01T00:00:00+00:00",
)  # fmt: skip
PROBLEMS = Path(__file__).parent / "rewrites_problems"


def test_a_rewritten_kernel_is_found_verified_and_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BASELINES, "cpu", ("eager",))
    quick = Rule("full", min_rounds=6, max_rounds=12, max_seconds=1.0, half_width=0.1)
    monkeypatch.setitem(RULES, "full", quick)
    with JsonLinesStore.open(tmp_path / "trials.jsonl") as store:
        found = kw.optimize(str(PROBLEMS / "linear_sum.py"), budget_s=1.0, seed=1, store=store)
    best, kernel = found.report["best"], found.kernel
    assert best is not None, found.report["notes"]
    assert kernel is not None and kernel.proposer.parameters["graph"] == "rewritten"
    assert any(SUMS.name in note for note in found.report["notes"])
    assert kernel.plan is not None and kernel.plan.prepare
    assert best["prepare_us"] > 0, "weights are not frozen: their part is charged to each call"
    assert best["level"] == "full"
    assert best["speedup"]["eager"] > 2


def test_the_reporting_floor_is_that_of_the_rewritten_graph() -> None:
    problem = load_problem(PROBLEMS / "linear_sum.py")
    assert problem.rewritten_flops is not None and problem.graph_flops is not None
    assert least_flops(problem) == problem.rewritten_flops < problem.graph_flops / 50
    as_written = problem.model_copy(update={"rewritten_flops": None})
    assert least_flops(as_written) == problem.graph_flops, "what was stored before there were rewrites"
    assert reporting_floor(problem, SLOW).us < reporting_floor(as_written, SLOW).us
    assert problem.compulsory_bytes == as_written.compulsory_bytes, "the rejecting floor does not move"


def test_a_rewritten_kernel_serves_any_batch() -> None:
    proposals = open_proposals(load_problem(PROBLEMS / "linear_sum.py"), Target.parse("cpu"))
    assert proposals.rewritten is not None
    assert "batch >= 1" in proposals.rewritten.partition.domain


def test_diagnosis_says_both_graphs() -> None:
    problem = load_problem(PROBLEMS / "diagonal_product.py")
    graph = _graph(problem)
    assert graph is not None
    assert graph["operations"] > 100 * graph["rewritten"]["operations"]
    (line,) = _forms(graph)
    assert f"{graph['operations']:,} operations" in line
    assert "product with a diagonal matrix" in line
    plain: dict[str, Any] = {**graph, "rules": []}
    assert list(_forms(plain)) == [] == list(_forms(None))
