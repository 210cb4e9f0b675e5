"""The report's document and the diagnosis, from made-up measurements."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import pytest

from kernelwright.cli import table
from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.measurement import Measurement, Speedup, Status, Timing
from kernelwright.core.plan import Library, Plan
from kernelwright.core.problem import CONTRACT_VERSION, Entry, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Run, Trial
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.measure.baselines import Ranked
from kernelwright.measure.ceilings import Ceilings
from kernelwright.measure.profile import Part, Profile
from kernelwright.problems import load_problem
from kernelwright.search import diagnosis
from kernelwright.search import report as reports
from kernelwright.search.campaign import _compared
from kernelwright.search.loop import cost_of
from kernelwright.search.report import custom_share, report

CPU = Target.parse("cpu")
CEILINGS = Ceilings(
    target="cpu", device="test", identity={}, read_gbs=20.0, write_gbs=15.0, copy_gbs=18.0,
    fp32_tflops=0.1, llc_bytes=1 << 20, measured_at="2026-01-01T00:00:00+00:00",
)  # fmt: skip


KERNELS = {"possible": True, "regions": 2, "libraries": 1, "reason": None}


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


def test_a_degenerate_status_has_the_reason_that_the_problem_gives() -> None:
    _, trial = run_and_trial()
    assert trial.evaluation.measurement is not None
    weak = problem().model_copy(update={"degenerate": ("every element is one", "nothing is read")})
    reasons = {
        status: reports._reason(weak, trial.evaluation.measurement.model_copy(update={"status": status}))
        for status in get_args(Status)
    }
    assert reasons.pop("degenerate") == "every element is one; nothing is read"
    assert set(reasons.values()) == {""}


def test_what_progress_says_of_the_best_is_of_one_measurement() -> None:
    _, trial = run_and_trial()
    assert trial.evaluation.measurement is not None
    assert _compared(trial.evaluation.measurement) == {
        "best_us": 500.0, "status": "won", "speedup": 1.2, "speedup_ci": [1.1, 1.3], "over": "compile",
        "over_us": 600.0,
    }  # fmt: skip


def test_a_noisy_look_does_not_pass_for_a_fast_kernel() -> None:
    _, trial = run_and_trial()
    measurement = trial.evaluation.measurement
    assert measurement is not None

    def cost(ratio: float, low: float, high: float) -> float:
        beside = (Speedup(baseline="eager", ratio=ratio, ci=(low, high)),)
        seen = measurement.model_copy(update={"speedups": beside})
        found = cost_of(trial.evaluation.model_copy(update={"measurement": seen}))
        assert found is not None
        return found

    assert cost(1.5, 1.4, 1.6) < cost(4.1, 0.9, 9.0)


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
    found = diagnosis._report(problem(), CPU, profile, CEILINGS, 1000.0, KERNELS)
    names = [row["name"] for row in found["parts"]]
    assert names == ["aten::exp", "aten::mm", "2 more"]
    row = found["parts"][0]
    assert row["floor_us"] == pytest.approx(4e6 / 20.0 / 1e3)
    assert row["gain"] == pytest.approx(1000 / (1000 - (900 - 200)))
    assert row["gain_if_free"] == pytest.approx(10.0)
    assert found["parts"][1]["floor_us"] == pytest.approx(2e6 / 0.1e6)
    assert any("aten::exp" in line for line in found["summary"])
    assert "kernels: yes, for 2 loop nests; library calls that stay as they are: 1" in found["summary"]
    assert [row["kind"] for row in found["parts"]] == ["[1000,1000]", "[100,100] x [100,100]", ""]


@pytest.mark.parametrize(
    ("parts_us", "eager_us", "disturbed", "words"),
    [
        (1000.0, 1000.0, "", []),
        (1400.0, 1000.0, "", []),
        (1000.0, 1400.0, "", []),
        (53500.0, 13167.0, "", ["53,500 us under the profiler, eager takes 13,167 us", "quiet machine"]),
        (10.0, 100.0, "", ["10 us of eager's 100 us", "between operations"]),
        (0.0, 100.0, "", []),
        (1000.0, 1000.0, "others used 40%", ["others used 40%"]),
    ],
)
def test_figures_that_contradict_each_other_are_said_to(
    parts_us: float, eager_us: float, disturbed: str, words: list[str]
) -> None:
    profile = Profile((Part(name="aten::exp", shapes=((4,),), calls=1, us=parts_us, share=1.0),), parts_us)
    found = diagnosis._report(problem(), CPU, profile, CEILINGS, eager_us, KERNELS, disturbed)
    assert found["summary"][-1].startswith("kernels: yes") != bool(words)
    assert all(text in found["summary"][-1] for text in words)


@pytest.mark.parametrize("width", [80, 110])
def test_no_shape_of_a_diagnosis_is_broken(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = ((16, 64, 112, 112), (128, 64, 3, 3))
    part = Part(name="aten::mkldnn_convolution", shapes=shapes, calls=1, us=123456.0, share=1.0)
    found = diagnosis._report(problem(), CPU, Profile((part,), part.us), CEILINGS, 9.0, KERNELS)
    printed = StringIO()
    monkeypatch.setattr(table, "console", lambda: table.Output(file=printed, width=width))
    table.print_diagnosis(found)
    assert all(str(list(shape)).replace(" ", "") in printed.getvalue() for shape in shapes)


def test_whether_kernels_can_be_proposed_is_said(tmp_path: Path) -> None:
    text = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return {}\n\n"
    text += "def get_inputs():\n    return [torch.randn(8, 8)]\n\ndef get_init_inputs():\n    return []\n"
    said = {}
    for name, forward in (("pointwise", "torch.relu(x) + 1"), ("product", "x @ x")):
        (tmp_path / f"{name}.py").write_text(text.format(forward))
        said[name] = diagnosis._served(diagnosis._kernels(load_problem(str(tmp_path / f"{name}.py")), CPU))
    assert said["pointwise"] == "kernels: yes, for 1 loop nest"
    assert said["product"].startswith("kernels: no; 'product' is library calls only")
