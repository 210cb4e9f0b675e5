"""Measuring for real: a small problem on a real bench, ceilings of this machine, a profile."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from kernelwright.core.errors import UsageError
from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.execute.reports import CandidateFailed
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.clock import outside_resolution
from kernelwright.measure.paired import paired
from kernelwright.measure.profile import profile
from kernelwright.measure.stopping import RULES
from kernelwright.measure.witness import Witness
from kernelwright.problems import load_problem
from kernelwright.sandbox.hold import stands_still

SLOTS = ("a", "b")
SHORT = dataclasses.replace(RULES["quick"], max_rounds=6, max_discarded=0)


class Chain(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(torch.relu(x) @ x.T, dim=-1)


def dawdle(state):
    """Worker side: a stand-in that does the work several times over."""
    bench = state["bench"]
    forward = bench.runner.run
    bench.runner.run = lambda args, poison=False: [forward(args) for _ in range(6)][-1]


def die(state):
    """Worker side: a stand-in that takes its process with it."""
    import os

    state["bench"].runner.run = lambda args, poison=False: os._exit(3)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_DATA", str(tmp_path_factory.mktemp("data")))
        problem = load_problem(Chain(), inputs=(torch.rand(512, 512),))
        with Bench.open(problem, weights_seed=1) as opened:
            for seed, slot in enumerate(SLOTS):
                opened.draw(slot, seed=seed)
            yield opened


@pytest.fixture
def stand_in(bench):
    def load():
        bench.flush("kernel")  # replaces the worker if the test before killed it
        bench.candidate.call("kernelwright.measure.host_ops:stand_in")

    load()
    return load


def test_eager_against_itself_claims_nothing_and_leaves_a_trace(bench, stand_in):
    witness = Witness()
    found = paired(bench, "kernel", ["eager"], SLOTS, SHORT, witness=witness)
    assert found.clock == "outside" and len(found.kernel.samples_us[0]) == 6
    assert found.speedups[0].ci[0] <= found.speedups[0].ratio <= found.speedups[0].ci[1]
    assert witness.samples and all(sample.data is not None for sample in witness.samples)
    assert {sample.slot for sample in witness.samples} == set(SLOTS)
    expected = bench.reference.call("test_measure_bench:expected", slot="a")
    for sample in witness.samples:
        if sample.slot == "a":
            _, first, size = sample.position
            assert sample.data.hex() == expected[2 * first : 2 * (first + size)]


def expected(state, slot):
    """Worker side: bytes of the reference's output, in hexadecimal."""
    bench = state["bench"]
    with torch.no_grad():
        return bench.reference.module(*bench.slots[slot].args).numpy().tobytes().hex()


def test_a_kernel_that_dawdles_is_behind(bench, stand_in):
    bench.candidate.call("test_measure_bench:dawdle")
    found = paired(bench, "kernel", ["eager"], SLOTS, RULES["quick"])
    assert found.speedups[0].ratio < 0.6
    assert found.status in ("behind", "unresolved")


def test_a_kernel_that_dies_under_the_clock_is_its_own_failure(bench, stand_in):
    bench.candidate.call("test_measure_bench:die")
    with pytest.raises(CandidateFailed):
        paired(bench, "kernel", ["eager"], SLOTS, SHORT)
    alone = paired(bench, "eager", [], SLOTS, SHORT)
    assert alone.status == "unresolved" and alone.kernel.latency_us > 0


def test_several_processes_need_to_know_how_to_load_again(bench):
    with pytest.raises(UsageError, match="reload"):
        paired(bench, "kernel", ["eager"], SLOTS, RULES["full"])


def test_several_processes_are_fresh_ones(bench, stand_in):
    before, truth = {bench.candidate.pid, bench.opponents.pid}, bench.reference.pid
    twice = dataclasses.replace(SHORT, replicates=2, warmup=1)
    found = paired(bench, "kernel", ["eager"], SLOTS, twice, reload=stand_in)
    assert [len(samples) for samples in found.kernel.samples_us] == [6, 6]
    assert not before & {bench.candidate.pid, bench.opponents.pid}
    assert bench.reference.pid == truth


def test_the_clock_knows_its_own_cost(bench):
    found = outside_resolution(bench)
    assert 1.0 < found.null_us <= found.p95_us
    assert found.resolution_us == 20 * found.null_us


def test_a_profile_finds_the_product(bench):
    found = profile(bench.reference, "a", runs=3)
    # Which part is the longest depends on how busy the machine is; that they are in order does not.
    assert [part.share for part in found.parts] == sorted((part.share for part in found.parts), reverse=True)
    product = next(part for part in found.parts if part.name == "aten::mm")
    assert product.shapes[:2] == ((512, 512), (512, 512))
    assert sum(part.share for part in found.parts) == pytest.approx(1.0)
    assert {"aten::relu", "aten::_softmax"} & {part.name for part in found.parts}


def test_this_machines_ceilings_are_plausible():
    """Those that other tests want too: measured by whoever comes first."""
    found = ceilings(Target.parse("cpu"))
    rates = (found.read_gbs, found.write_gbs, found.copy_gbs, found.cached_gbs)
    assert all(rate is not None and 0.1 < rate < 5000 for rate in rates)
    assert 0.001 < found.fp32_tflops < 100
    assert found.llc_bytes >= 1 << 18
    assert ceilings(Target.parse("cpu")) == found


def test_nothing_of_the_kernel_runs_while_something_else_is_timed(bench, stand_in, monkeypatch):
    seen = []
    timed, call = bench.timed, bench.reference.call

    def watched(subject, *rest, **more):
        if len(rest) > 1:  # with places to look at: no warm-up
            seen.append((subject, stands_still(bench.candidate.pid, alone=True)))
        return timed(subject, *rest, **more)

    def watched_call(function, *rest, **more):
        if function.endswith(":sentinels"):
            seen.append(("sentinels", stands_still(bench.candidate.pid, alone=True)))
        return call(function, *rest, **more)

    monkeypatch.setattr(bench, "timed", watched)
    monkeypatch.setattr(bench.reference, "call", watched_call)
    paired(bench, "kernel", ["eager"], SLOTS, SHORT)
    assert set(seen) == {("eager", True), ("sentinels", True), ("kernel", False)}
    assert bench.null_us("kernel") > 0, "it goes on afterwards"
