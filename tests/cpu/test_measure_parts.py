"""Baselines, witness, environment and profile, without a bench."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_measure_floors import problem
from test_measure_series import FakeStopwatch

from kernelwright.core.problem import TensorSpec
from kernelwright.core.target import Target
from kernelwright.execute.baselines import baseline_names
from kernelwright.measure.baselines import BASELINES, OWN_GRAPHS, applicable, rank, strongest
from kernelwright.measure.disturbance import Disturbance, Ticks, disturbance, ticks
from kernelwright.measure.environment import environment, identity
from kernelwright.measure.profile import Part, Profile, joined, medians
from kernelwright.measure.witness import PIECE_BYTES, Witness, secret_positions


def test_every_baseline_of_the_fixed_set_can_be_made():
    assert all(set(names) == set(baseline_names(target)) for target, names in BASELINES.items())
    assert all(names[0] == "eager" for names in BASELINES.values())


def test_baselines_apply_where_they_mean_something():
    flat = applicable(problem(), "cuda", "events")
    assert flat["eager"] is None and flat["compile_max_autotune"] is None
    assert flat["channels_last"] is not None and flat["cudnn_benchmark"] is not None
    image = TensorSpec(name="x", dtype="float32", shape=(1, 2, 3, 4))
    filters = TensorSpec(name="conv.weight", dtype="float32", shape=(2, 2, 3, 3))
    convolution = problem(inputs=(image,), weights=(filters,))
    assert set(applicable(convolution, "cuda", "events").values()) == {None}
    replayed = applicable(convolution, "cuda", "replay")
    assert {name for name, reason in replayed.items() if reason} == OWN_GRAPHS


def test_the_strongest_are_the_fastest_and_near_it():
    stopwatch = FakeStopwatch({"a": 300.0, "b": 100.0, "c": 120.0, "d": 140.0, "e": 149.0})
    ranked = rank(stopwatch, ["a", "b", "c", "d", "e"], ["s"])
    assert [one.name for one in ranked] == ["b", "c", "d", "e", "a"]
    assert strongest(ranked, keep=3) == ["b", "c", "d"]
    assert strongest(ranked, keep=5, within=1.25) == ["b", "c"]
    assert strongest(rank(stopwatch, [], ["s"])) == []


@given(st.lists(st.tuples(st.integers(0, 5000), st.sampled_from([1, 2, 4, 8])), max_size=4))
def test_secret_positions_are_whole_elements_inside_their_output(outputs):
    sizes, items = [count * item for count, item in outputs], [item for _, item in outputs]
    for tensor, first, size in secret_positions(sizes, items):
        assert first >= 0 and first + size <= sizes[tensor]
        assert first % items[tensor] == 0 and size % items[tensor] == 0
        assert 0 < size <= PIECE_BYTES


def test_secret_positions_differ_from_call_to_call():
    seen = {position for _ in range(20) for position in secret_positions([1 << 20], [4])}
    assert len(seen) > 70


def test_a_witness_keeps_what_could_not_be_read_too():
    witness = Witness()
    witness.add("a", [(0, 0, 4), (0, 8, 4)], [b"1234", None])
    assert [(one.slot, one.data) for one in witness.samples] == [("a", b"1234"), ("a", None)]


def test_the_environment_is_json_and_names_the_machine():
    facts = environment(Target.parse("cpu"))
    assert json.loads(json.dumps(facts))["cores"] >= 1
    assert {"cpu", "load", "huge_pages", "versions", "threads"} <= set(facts)
    assert set(identity("cpu")) == {"cpu", "cores", "memory_bytes"}


def test_what_others_used_is_a_share_of_all_ticks():
    before = Ticks(stolen=10, busy=500, total=1000, own=300)
    found = disturbance(before, Ticks(stolen=30, busy=600, total=1200, own=350))
    assert (found.steal, found.others) == (pytest.approx(0.1), pytest.approx(0.25))
    assert (
        found.words()
        == "other processes used 25% of the processors and the hypervisor gave 10% of them to others"
    )
    assert disturbance(before, before) == Disturbance() and Disturbance(0.01, 0.04).words() == ""


def test_another_process_that_works_is_seen_and_ones_own_work_is_not():
    before = ticks([])
    until = time.monotonic() + 0.5
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        while time.monotonic() < until:
            pass
        after, own = ticks([]), ticks([busy.pid])
        busy.kill()
    assert own.own > after.own
    seen = disturbance(before, after)
    assert (seen.others or 0) > 0.1 / (os.cpu_count() or 1)


def test_sizes_of_one_run_are_joined_with_the_times_of_others():
    square, row = ((4, 4),), ((4,),)
    sized = [("aten::add", square, 900.0), ("aten::add", row, 900.0), ("aten::add", square, 900.0)]
    runs = [[("aten::add", (), us) for us in (first, 5.0, 0.5)] for first in (1.0, 3.0, 500.0)]
    rows = medians([joined(sized, run) for run in runs])
    assert [(row["shapes"], row["calls"], row["us"]) for row in rows] == [
        ([[4, 4]], 2, 3.5),
        ([[4]], 1, 5.0),
    ]
    other = joined(sized, [("aten::mul", (), 2.0)])
    assert other == {("aten::mul", ()): (1, 2.0)}, "sizes of another run's operations would be wrong"


def test_what_a_perfect_part_could_gain():
    parts = (Part("aten::mm", (), 1, 75.0, 0.75), Part("aten::relu", (), 1, 25.0, 0.25))
    profile = Profile(parts, 100.0)
    assert profile.gain_if_free(parts[0]) == pytest.approx(4.0)
    assert profile.gain_at_floor(parts[0], 25.0) == pytest.approx(2.0)
    assert profile.gain_at_floor(parts[0], 90.0) == 1.0
