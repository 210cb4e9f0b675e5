"""The report's document and the diagnosis, from made-up measurements."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.measurement import Measurement, Speedup, Timing
from kernelwright.core.plan import Library, Plan
from kernelwright.core.problem import CONTRACT_VERSION, Entry, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Run, Trial
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.measure.baselines import Ranked
from kernelwright.measure.ceilings import Ceilings
from kernelwright.measure.profile import Part, Profile
from kernelwright.search import diagnosis
from kernelwright.search import report as reports
from kernelwright.search.report import custom_share, report

CPU = Target.parse("cpu")
CEILINGS = Ceilings(
    target="cpu", device="test", identity={}, read_gbs=20.0, write_gbs=15.0, copy_gbs=18.0,
    fp32_tflops=0.1, llc_bytes=1 << 20, measured_at="2026-01-01T00:00:00+00:00",
)  # fmt: skip


def timing(name: str, us: float) -> Timing:
    return Timing(name=name, latency_us=us, ci=(us * 0.99, us * 1.01), samples_us=((us,),))


def problem() -> Problem:
    return Problem(
        name="p",
        source="s",
        normalized="s",
        entry=Entry(kind="path", location="m:f"),
        compulsory_bytes=8_000_000,
    )


def run_and_trial() -> tuple[Run, Trial]:
    run = Run(problem=problem(), target=CPU, budget_s=1.0, strategy="random")
    kernel = Kernel(
        name="k", problem=run.problem.hash, language="cpp", sources=(Source(path="k.cpp", text=""),),
        plan=Plan(buffers=(), run=()),
    )  # fmt: skip
    measurement = Measurement(
        clock="outside",
        kernel=timing("kernel", 500.0),
        baselines=(timing("eager", 1000.0), timing("compile", 600.0)),
        speedups=(
            Speedup(baseline="eager", ratio=2.0, ci=(1.9, 2.1)),
            Speedup(baseline="compile", ratio=1.2, ci=(1.1, 1.3)),
        ),
        status="won",
        floor_share=0.8,
    )
    gate = GateResult(name="numeric", status="pass", kind="precision")
    types = GateResult(
        name="provenance", status="pass", kind="precision", evidence={"labels": ["tf32 products"]}
    )
    evaluation = Evaluation(
        problem=run.problem.hash,
        kernel=kernel.hash,
        target=CPU,
        build=Build(kernel=kernel.hash, target=CPU, status="built"),
        verdict=Verdict.of([types, gate], "full", CONTRACT_VERSION, ["something"]),
        measurement=measurement,
    )
    return run, Trial(run=run.id, kernel=kernel, evaluation=evaluation)


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(reports, "ceilings", lambda target: CEILINGS)
    run, trial = run_and_trial()
    ranked = [
        Ranked("compile", timing("compile", 700.0)),
        Ranked("eager", timing("eager", 1100.0)),
        Ranked("compile_max_autotune", timing("compile_max_autotune", 2500.0)),
        Ranked("channels_last", None, "no input has four dimensions"),
    ]
    found = report(run, trial, ranked, trials=7, seconds=9.0, search_seconds=1.0)
    loaded: dict[str, Any] = json.loads(json.dumps(found))
    return loaded


def test_times_measured_beside_the_kernel_go_before_the_quick_pass(document: dict[str, Any]) -> None:
    baselines = document["baselines"]
    assert baselines["compile"]["latency_us"] == 600.0
    assert baselines["compile_max_autotune"]["latency_us"] == 2500.0
    assert baselines["channels_last"] == {
        "latency_us": None,
        "ci": None,
        "reason": "no input has four dimensions",
    }


def test_types_below_the_references_are_labelled(document: dict[str, Any]) -> None:
    assert document["best"]["labels"] == ["tf32 products"]


def test_the_strongest_is_the_smallest_ratio(document: dict[str, Any]) -> None:
    best = document["best"]
    assert best["strongest"] == "compile"
    assert best["speedup"] == {
        "compile": 1.2, "eager": 2.0, "compile_max_autotune": 5.0, "channels_last": None, "strongest": 1.2
    }  # fmt: skip
    assert best["speedup_ci"]["strongest"] == [1.1, 1.3]
    assert best["speedup_ci"]["compile_max_autotune"] is None, "it was not timed beside the kernel"
    assert 0 < best["sol_score"] < 1


def test_no_kernel_is_a_result() -> None:
    run, _ = run_and_trial()
    found = report(run, None, [], trials=0, seconds=1.0, search_seconds=0.5, notes=["nothing to propose"])
    assert found["best"] is None
    assert found["notes"] == ["nothing to propose"]


def test_the_share_of_custom_kernels_is_known_only_without_libraries() -> None:
    assert custom_share(Plan(buffers=(), run=())) == 1.0
    assert custom_share(Plan(buffers=(), run=(Library(op="aten.mm.out", inputs=()),))) is None
    assert custom_share(None) is None


def test_parts_have_amdahl_bounds_and_small_ones_are_summed() -> None:
    big = Part(name="aten::exp", shapes=((1000, 1000),), calls=1, us=900.0, share=0.9)
    product = Part(name="aten::mm", shapes=((100, 100), (100, 100)), calls=1, us=98.0, share=0.098)
    small = [Part(name=f"aten::add{n}", shapes=(), calls=1, us=1.0, share=0.001) for n in range(2)]
    profile = Profile((big, product, *small), 1000.0)
    found = diagnosis._report(problem(), CPU, profile, CEILINGS, 1000.0)
    names = [row["name"] for row in found["parts"]]
    assert names == ["aten::exp", "aten::mm", "2 more"]
    row = found["parts"][0]
    assert row["floor_us"] == pytest.approx(4e6 / 20.0 / 1e3)
    assert row["gain"] == pytest.approx(1000 / (1000 - (900 - 200)))
    assert row["gain_if_free"] == pytest.approx(10.0)
    assert found["parts"][1]["floor_us"] == pytest.approx(2e6 / 0.1e6)
    assert any("aten::exp" in line for line in found["summary"])
