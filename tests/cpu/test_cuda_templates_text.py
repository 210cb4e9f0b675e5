"""What the CUDA templates emit, as text and plan: golden sources, domains, and choices that always fit."""

from __future__ import annotations

import math
import os
from pathlib import Path
from random import Random

import cuda_on_host as host
import cuda_samples
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.expr import evaluate, holds
from kernelwright.core.plan import IntArg, Launch
from kernelwright.graph.loops import Access, Apply, Const, Dim, Load, Reduce, Region, Store
from kernelwright.propose import TEMPLATES
from kernelwright.propose.templates.base import Emitted, Template
from kernelwright.propose.templates.cuda import regroup
from kernelwright.propose.templates.cuda.nest import flatten, same
from kernelwright.propose.templates.cuda.order import ordered

GOLDEN = Path(__file__).parents[1] / "golden"
SAMPLES = cuda_samples.at_scale()
CUDA = [TEMPLATES.get(name)() for name in TEMPLATES.names() if name.startswith("cuda_")]


def able(region: Region) -> list[Template]:
    return [template for template in CUDA if template.unavailable(region) is None]


def launches(emitted: Emitted) -> list[Launch]:
    return [step for step in emitted.steps if isinstance(step, Launch)]


@pytest.mark.parametrize(
    ("sample", "template"),
    [
        ("bias_gelu_residual", "cuda_pointwise"),
        ("softmax_393216", "cuda_row"),
        ("groupnorm", "cuda_row"),
        ("rmsnorm_channels", "cuda_column"),
        ("column_mean", "cuda_column"),
        ("batchnorm", "cuda_channel"),
    ],
)
def test_golden_source(sample: str, template: str) -> None:
    """Set KERNELWRIGHT_GOLDEN=write to write the files again, and read the difference."""
    (made,) = [each for each in CUDA if each.name == template]
    emitted = made.emit(SAMPLES[sample], made.space(SAMPLES[sample]).default(), "r0")
    path = GOLDEN / f"{template}_{sample}.cu"
    if os.environ.get("KERNELWRIGHT_GOLDEN") == "write":
        path.write_text(emitted.source)
    assert emitted.source == path.read_text()


@pytest.mark.parametrize("name", SAMPLES)
def test_some_template_serves_every_sample(name: str) -> None:
    assert able(SAMPLES[name])


@pytest.mark.parametrize(
    ("sample", "template", "wanted"),
    [
        ("softmax_393216", "cuda_row", {"team": "cluster16", "waves": 0, "stages": 1, "unroll": 2}),
        ("instancenorm", "cuda_row", {"team": "cluster16", "waves": 0, "stages": 1}),
        ("log_softmax_50257", "cuda_row", {"team": "cluster2", "waves": 1, "stages": 2}),
        ("groupnorm", "cuda_channel", {"parts": 4}),
        ("layernorm_4m", "cuda_channel", {"parts": 32}),
        ("softmax_1024", "cuda_row", {"team": "lanes32"}),
    ],
)
def test_a_search_begins_with_what_was_fastest(sample: str, template: str, wanted: dict[str, object]) -> None:
    region = SAMPLES[sample]
    first, *others = ordered(tuple(able(region)), region)
    assert first.name == template and len(others) == len(able(region)) - 1
    default = first.space(region).default()
    assert {name: default[name] for name in wanted} == wanted


def blocks_in_a_multiprocessor(launch: Launch) -> int:
    """By threads and dynamic shared memory, of which the device takes 1 KiB more for each block."""
    shared = evaluate(launch.shared_bytes, {}) + 1024
    return min(2048 // evaluate(launch.block[0], {}), 228 * 1024 // shared)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 2**32))
def test_every_choice_emits_what_a_device_can_launch(name: str, seed: int) -> None:
    region = SAMPLES[name]
    for template in able(region):
        choice = template.space(region).random(Random(seed))
        emitted = template.emit(region, choice, "r0")
        assert emitted == template.emit(region, choice, "r0")
        assert all(buffer.name.startswith("r0") for buffer in emitted.scratch)
        for launch in launches(emitted):
            assert launch.entry.startswith("r0")
            assert evaluate(launch.shared_bytes, {}) <= 219 * 1024
            blocks, cluster = evaluate(launch.grid[0], {}), evaluate(launch.cluster[0], {})
            assert 0 < blocks < 2**31 and blocks % cluster == 0
            assert not launch.cooperative or blocks <= 132 * blocks_in_a_multiprocessor(launch)


def symbolic_softmax(rows: str, cols: str) -> Region:
    dims = (Dim("rows", rows, 4096), Dim("cols", cols, 1024))
    full = Access("x", (cols, 1))
    nodes = (
        Load(full, "float32"),
        Reduce("max", 0, "float32"),
        Apply("sub", (0, 1), "float32"),
        Apply("exp", (2,), "float32"),
        Reduce("sum", 3, "float32"),
        Apply("div", (3, 4), "float32"),
    )
    return Region("softmax", dims, frozenset({1}), nodes, (Store(Access("out", (cols, 1)), 5, "float32"),))


def test_row_count_stays_free_and_row_length_is_in_the_domain() -> None:
    region = symbolic_softmax("batch", "features")
    (row,) = able(region)
    emitted = row.emit(region, row.space(region).default(), "r0")
    assert holds(emitted.domain, {"batch": 7, "features": 1024})
    assert not holds(emitted.domain, {"batch": 7, "features": 1020})
    assert not holds(emitted.domain, {"batch": 2**22, "features": 1024}), "32-bit indexes"
    (launch,) = launches(emitted)
    assert evaluate(launch.grid[0], {"batch": 7}) < evaluate(launch.grid[0], {"batch": 70})
    assert [arg.value for arg in launch.args if isinstance(arg, IntArg)] == ["batch"]


def test_flat_chain_asks_for_whole_vectors_only() -> None:
    nodes = (Load(Access("x", (1,)), "float32"), Apply("relu", (0,), "float32"))
    region = Region(
        "relu", (Dim("n", "n", 4096),), frozenset(), nodes, (Store(Access("out", (1,)), 1, "float32"),)
    )
    (pointwise,) = able(region)
    emitted = pointwise.emit(region, pointwise.space(region).default(), "r0")
    assert holds(emitted.domain, {"n": 44}) and not holds(emitted.domain, {"n": 45})


def test_a_chain_of_odd_length_moves_whole_vectors() -> None:
    region = cuda_samples.bias_gelu_residual((1001, 4095))
    (pointwise,) = able(region)
    emitted = pointwise.emit(region, pointwise.space(region).default().but(vector=4), "r0")
    assert "kw_load_part<0, float, 4>" in emitted.source and "kw_store_part<1, float, 4>" in emitted.source


def test_columns_of_odd_rows_are_read_in_whole_vectors() -> None:
    region = SAMPLES["sum_dim1"]
    (column,) = able(region)
    space = column.space(region)
    emitted = column.emit(region, space.default(), "r0")
    groups, rest = launches(emitted)
    assert (
        "kw_load<1, float, 4>" in emitted.source.partition(f"void __launch_bounds__({256}) {rest.entry}(")[0]
    )
    assert groups.entry == "r0_groups" and rest.entry == "r0"
    single = column.emit(region, space.default().but(regroup=1), "r0")
    assert len(launches(single)) == 1 and "kw_load<1, float, 4>" not in single.source


@settings(max_examples=20, deadline=None)
@given(st.integers(65, 90), st.integers(1, 3), st.sampled_from(["sum", "max", "mean"]))
def test_two_halves_say_what_the_whole_says(inner: int, outer: int, op: str) -> None:
    region = flatten(cuda_samples.reduction((outer, 256, inner), (1,), op))
    group = regroup.group_of(region)
    assert group == 4 // math.gcd(inner, 4)
    if group == 1:
        return
    halves = regroup.halved(region, group, "r0")
    generator = torch.Generator().manual_seed(inner)
    x = torch.randn(outer * 256 * inner, generator=generator)
    whole = host.compute(region, {"x": x, "out": torch.zeros(outer * inner)})["out"]
    between = {name: torch.zeros(size) for name, (size, _) in host.buffer_sizes(halves.first).items()}
    middle = host.compute(halves.first, {**between, "x": x})
    found = host.compute(halves.second, {**middle, "x": x, "out": torch.zeros(outer * inner)})["out"]
    torch.testing.assert_close(found, whole)


def test_a_padded_matrix_needs_no_groups() -> None:
    """Rows of 4095 that are 4096 apart begin at whole vectors already."""
    dims = (Dim("rows", 4096, 4096), Dim("cols", 4095, 4095))
    nodes = (Load(Access("x", (4096, 1)), "float32"), Reduce("sum", 0, "float32"))
    stores = (Store(Access("out", (0, 1)), 1, "float32"),)
    region = flatten(Region("sum", dims, frozenset({0}), nodes, stores))
    assert regroup.group_of(region) == 1


def test_a_ring_holds_a_row_and_a_part() -> None:
    region = SAMPLES["groupnorm"]
    row = next(each for each in CUDA if each.name == "cuda_row")
    choice = row.space(region).default().but(team="grid66", waves=1)
    (launch,) = launches(row.emit(region, choice, "r0"))
    share = 8 * 512 * 512 * 4 / 66
    assert share < evaluate(launch.shared_bytes, {}) < 2 * share


def test_flatten_merges_what_memory_merges() -> None:
    flat = flatten(cuda_samples.layernorm((6, 8, 16, 4), 3))
    assert [dim.extent for dim in flat.dims] == [6, 512]
    assert flat.reduced == {1}
    assert [dim.extent for dim in flatten(cuda_samples.groupnorm((2, 4, 3, 64))).dims] == [2, 4, 3, 64]


def test_flatten_drops_unit_dimensions() -> None:
    flat = flatten(cuda_samples.reduction((3, 1, 5), (1,)))
    assert [dim.extent for dim in flat.dims] == [15] and not flat.reduced


@given(st.integers(1, 50), st.integers(1, 50))
def test_same_sees_equal_products_and_no_others(a: int, b: int) -> None:
    assert same(f"n * {a} * {b}", f"({a * b}) * n")
    assert same(f"n * {a}", f"n * {b}") == (a == b)
    assert not same("n * m", "n + m")


def test_a_buffer_read_and_written_at_different_places_is_refused() -> None:
    nodes = (Load(Access("x", (1,), 1), "float32"), Apply("relu", (0,), "float32"))
    region = Region(
        "shift", (Dim("n", 64, 64),), frozenset(), nodes, (Store(Access("x", (1,)), 1, "float32"),)
    )
    assert not able(region)


def test_running_statistics_that_other_threads_read_are_refused() -> None:
    """x - running, while running moves: one thread would write what others still read."""
    s = cuda_samples.Sketch((8, 4096), (1,))
    x, running = s.load("x"), s.load("running", (0,))
    s.store("out", s.apply("sub", x, running))
    s.store("running", s.mean(x), (0,))
    assert not able(s.region("moving"))


def test_literals_keep_their_value() -> None:
    from kernelwright.propose.templates.cuda.emit import literal

    assert literal(1e-5, "float") == "1e-05f" and literal(3, "float") == "3.0f"
    assert literal(-0.5, "double") == "(-0.5)" and literal(True, "bool") == "true"
    assert "7f800000" in literal(float("-inf"), "float") and literal(float("-inf"), "float").startswith("(-")


def test_a_constant_divisor_that_is_not_the_count_is_no_mean() -> None:
    """sum((x - s/7)^2) with 7 unequal to the row length needs two passes, whatever is asked for."""
    s = cuda_samples.Sketch((8, 4096), (1,))
    x = s.load("x")
    off = s.apply("sub", x, s.apply("div", s.reduce("sum", x), s._put(Const(7.0, "float32"))))
    s.store("out", s.apply("mul", off, s.reduce("sum", s.apply("mul", off, off))))
    region = s.region("not_a_variance")
    assert [t.space(region).default()["statistics"] for t in able(region)] == ["two_pass", "two_pass"]
