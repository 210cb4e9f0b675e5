"""Floors, ceilings on disk, datasheet names, and the score: from figures made up for the test."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.problem import Axis, Entry, NumericFlags, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.measure import ceilings as module
from kernelwright.measure.ceilings import Ceilings, ceilings, raised
from kernelwright.measure.datasheet import MEMORY_GBS, datasheet_gbs
from kernelwright.measure.floors import (
    rejecting_floor,
    reporting_floor,
    reporting_floor_us,
    sol_score,
    traffic,
)

CPU, CUDA = Target.parse("cpu"), Target.parse("cuda")
NOW = datetime.now(timezone.utc)


def problem(rows=1 << 20, columns=64, **fields):
    shape = ("rows", "columns")
    given = {
        "inputs": (TensorSpec(name="x", dtype="float32", shape=shape),),
        "outputs": (TensorSpec(name="out", dtype="float32", shape=shape),),
        "compulsory_bytes": 2 * 4 * rows * columns,
    }
    return Problem(
        name="p",
        source="",
        normalized="",
        entry=Entry(kind="kernelbench", location=""),
        axes=(Axis(name="rows", size=rows), Axis(name="columns", size=columns)),
        **{**given, **fields},
    )


def rates(**fields):
    given = {
        "target": "cpu", "device": "cpu", "identity": {},
        "read_gbs": 20.0, "write_gbs": 10.0, "copy_gbs": 25.0,
        "cached_gbs": 100.0, "fp32_tflops": 0.1, "llc_bytes": 32 << 20, "measured_at": NOW.isoformat(),
    }  # fmt: skip
    return Ceilings(**{**given, **fields})


H200 = rates(
    target="cuda", device="NVIDIA H200",
    read_gbs=4380.0, write_gbs=4680.0, copy_gbs=4300.0, cached_gbs=9000.0,
    fp32_tflops=51.0, tf32_tflops=400.0, half_tflops=745.0, llc_bytes=50 << 20,
)  # fmt: skip


def test_a_copy_is_bounded_by_the_copy_ceiling():
    found = reporting_floor(problem(), rates())
    assert found.bound == "memory"
    assert found.us == pytest.approx(2 * 4 * (1 << 26) / 25e3)


def test_reads_without_writes_are_bounded_by_the_read_ceiling():
    out = (TensorSpec(name="out", dtype="float32", shape=("rows",)),)
    reduced = problem(outputs=out, compulsory_bytes=4 * (1 << 26) + 4 * (1 << 20))
    assert traffic(reduced) == (4 << 26, 4 << 20)
    assert reporting_floor_us(reduced, rates()) == pytest.approx((4 << 26) / 20e3 + (4 << 20) / 100e3)


def test_small_outputs_are_written_at_cache_speed_and_large_ones_are_not():
    small = reporting_floor_us(problem(rows=1 << 15), rates())
    assert small == pytest.approx((1 << 23) / 20e3 + (1 << 23) / 100e3)
    assert reporting_floor_us(problem(rows=1 << 15), rates(cached_gbs=None)) == pytest.approx(
        (2 << 23) / 25e3
    )


def test_mutated_buffers_are_written_too():
    weights = (TensorSpec(name="mean", dtype="float32", shape=("columns",)),)
    assert traffic(problem(weights=weights, mutated=("mean",)))[1] == 4 * (1 << 26) + 4 * 64


def test_products_are_bounded_by_the_product_ceiling_of_the_column():
    product = problem(graph_flops=10**12, flags=NumericFlags(tf32_matmul=True))
    strict, shipped = reporting_floor(product, H200), reporting_floor(product, H200, "as_shipped")
    assert strict.bound == shipped.bound == "compute"
    assert strict.us == pytest.approx(1e12 / (400 / 3 * 1e6))
    assert shipped.us == pytest.approx(1e12 / 400e6)
    half = product.model_copy(update={"inputs": (TensorSpec(name="x", dtype="bfloat16", shape=("rows",)),)})
    assert reporting_floor_us(half, H200) == pytest.approx(1e12 / 745e6)


def test_nothing_known_bounds_nothing():
    empty = problem(inputs=(), outputs=(), compulsory_bytes=None)
    assert reporting_floor(empty, rates()).us == 0
    assert rejecting_floor(empty, CPU, rates()).bound == "none"


def test_the_rejecting_floor_leaves_out_what_the_cache_can_hold():
    found = rejecting_floor(problem(), CUDA, H200)
    assert found.us == pytest.approx((2 * 4 * (1 << 26) - (50 << 20)) / 4800e3)
    cached = rejecting_floor(problem(rows=1 << 16), CPU, rates())
    assert cached.us == 0 and "fit in a last-level cache" in cached.why


def test_an_unknown_gpu_has_no_rejecting_floor():
    found = rejecting_floor(problem(), CUDA, rates(target="cuda", device="Some GPU"))
    assert (found.us, found.bound) == (0, "none") and "datasheet" in found.why


@given(st.integers(1, 1 << 22), st.floats(1, 100), st.floats(1, 100), st.floats(1, 100))
def test_the_rejecting_floor_never_exceeds_what_the_ceilings_allow(rows, read, write, copy):
    machine = rates(read_gbs=read, write_gbs=write, copy_gbs=copy, cached_gbs=None)
    allowed = problem(rows=rows).compulsory_bytes / (max(read, write, copy) * 1e3)
    assert rejecting_floor(problem(rows=rows), CPU, machine).us <= allowed / 2 * (1 + 1e-9)


@pytest.mark.parametrize(
    "device, gbs",
    [
        ("NVIDIA H200", 4800.0),
        ("NVIDIA H20", 4000.0),
        ("NVIDIA H100 80GB HBM3", 3352.0),
        ("NVIDIA H100 PCIe", 2039.0),
        ("NVIDIA GH200 480GB", 4900.0),
        ("NVIDIA A100-SXM4-80GB", 2039.0),
        ("NVIDIA L40S", 864.0),
        ("Tesla T4", 320.0),
        ("NVIDIA GeForce RTX 3090 Ti", 1008.0),
        ("NVIDIA H2000", None),
        ("", None),
    ],
)
def test_datasheet_names_match_whole_words(device, gbs):
    assert datasheet_gbs(device) == gbs


def test_each_datasheet_entry_can_be_reached():
    assert {name: datasheet_gbs(f"NVIDIA {name}") for name, _ in MEMORY_GBS} == dict(MEMORY_GBS)


@given(st.floats(1, 1e6), st.floats(1.01, 100), st.floats(1, 200))
def test_the_score_is_a_half_at_the_baseline_and_one_at_the_floor(floor, slower, kernel):
    baseline = floor * slower
    assert sol_score(baseline, baseline, floor) == pytest.approx(0.5)
    assert sol_score(floor, baseline, floor) == 1.0
    found = sol_score(floor * kernel, baseline, floor)
    assert found is not None and 0 < found <= 1


def test_no_score_where_the_baseline_is_at_the_floor():
    assert sol_score(1.0, 1.0, 1.0) is None
    assert sol_score(1.0, 2.0, 0.0) is None


class Measured:
    """Stands for the minutes of measuring; counts how often it was asked."""

    def __init__(self, found):
        self.found, self.asked = found, 0

    def __call__(self, target, worker=None):
        self.asked += 1
        return self.found


@pytest.fixture
def measured(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    found = Measured(rates())
    monkeypatch.setattr("kernelwright.measure.ceiling_runs.measure", found)
    return found


def test_ceilings_are_measured_once_and_kept(measured):
    assert ceilings(CPU) == ceilings(CPU) == measured.found
    assert measured.asked == 1
    ceilings(CPU, renew=True)
    assert measured.asked == 2


def test_raised_ceilings_are_the_better_of_both_and_kept(measured):
    measured.found = rates(read_gbs=10.0, write_gbs=30.0, half_tflops=None)
    ceilings(CPU)
    measured.found = rates(read_gbs=40.0, write_gbs=20.0, half_tflops=2.0)
    found = raised(CPU)
    assert (found.read_gbs, found.write_gbs, found.half_tflops) == (40.0, 30.0, 2.0)
    assert ceilings(CPU) == found
    assert measured.asked == 2


def test_old_ceilings_are_measured_again(measured):
    measured.found = rates(measured_at=(NOW - timedelta(days=40)).isoformat())
    ceilings(CPU)
    ceilings(CPU)
    assert measured.asked == 2
    ceilings(CPU, max_age_days=100)
    assert measured.asked == 2


@pytest.mark.parametrize("damage", ["", "{", json.dumps({"read_gbs": 1})])
def test_a_damaged_file_is_measured_again(measured, tmp_path, damage):
    ceilings(CPU)
    next((tmp_path / "ceilings").glob("cpu-*.json")).write_text(damage)
    assert ceilings(CPU) == measured.found
    assert measured.asked == 2


def test_another_machine_has_ceilings_of_its_own(measured, monkeypatch):
    ceilings(CPU)
    monkeypatch.setattr(module, "identity", lambda target: {"cpu": "another"})
    ceilings(CPU)
    assert measured.asked == 2


def test_a_cache_that_cannot_be_written_is_the_machines_lack(measured, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFault, match="KERNELWRIGHT_CACHE"):
        ceilings(CPU)
