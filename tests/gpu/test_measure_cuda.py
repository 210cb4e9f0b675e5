"""Device clocks on a real GPU: events, replay, the choice between them, ceilings, profile."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.datasheet import datasheet_gbs
from kernelwright.measure.paired import paired
from kernelwright.measure.profile import profile
from kernelwright.measure.stopping import RULES
from kernelwright.problems import load_problem

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

CUDA = Target.parse("cuda")
SLOTS = ("a", "b", "c")
LARGE, SMALL = (8192, 8192), (256, 1024)


class Chain(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(torch.relu(x) * 2.0 + 1.0, dim=-1)


@pytest.fixture(scope="module", params=[LARGE, SMALL], ids=["large", "small"])
def bench(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_DATA", str(tmp_path_factory.mktemp("data")))
        problem = load_problem(Chain(), inputs=(torch.rand(*request.param),))
        with Bench.open(problem, target=CUDA) as opened:
            for seed, slot in enumerate(SLOTS):
                opened.draw(slot, seed=seed)
            assert opened.baseline("eager") is None
            opened.opponents.call("kernelwright.measure.device_ops:alias", name="itself", of="eager")
            opened.shape = request.param
            yield opened


def test_the_clock_follows_the_length_of_the_call(bench):
    found = paired(bench, "itself", ["eager"], SLOTS, RULES["quick"])
    assert found.clock == ("events" if bench.shape == LARGE else "replay")
    assert found.resolution_us < found.kernel.latency_us
    assert found.status in ("level", "unresolved")
    assert found.speedups[0].ratio == pytest.approx(1.0, abs=0.05)


def test_fusion_shows(bench):
    found = paired(bench, "compile", ["eager"], SLOTS, RULES["quick"])
    assert found.speedups[0].ratio > 1.2
    assert found.environment["series"][0]["rounds"] >= RULES["quick"].min_rounds


def test_baselines_with_graphs_of_their_own_are_left_out_of_replay(bench):
    rule = dataclasses.replace(RULES["quick"], max_rounds=6)
    found = paired(bench, "itself", ["eager", "compile_reduce_overhead", "eager_graph"], SLOTS, rule)
    left_out = found.environment["left_out"]
    assert set(left_out) == (set() if bench.shape == LARGE else {"compile_reduce_overhead"})
    assert {one.name for one in found.baselines} | set(left_out) == {
        "eager",
        "compile_reduce_overhead",
        "eager_graph",
    }


def test_a_profile_has_device_times(bench):
    found = profile(bench.reference, "a", runs=3)
    assert {"aten::_softmax", "aten::relu"} & {part.name for part in found.parts}
    assert found.total_us > 1


def test_ceilings_stay_below_the_datasheet(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    found = ceilings(CUDA)
    limit = datasheet_gbs(found.device)
    assert limit is None or max(found.read_gbs, found.write_gbs, found.copy_gbs) < limit
    assert found.tf32_tflops > found.fp32_tflops > 1
