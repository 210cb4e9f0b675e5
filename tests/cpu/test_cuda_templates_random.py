"""Random regions of awkward sizes under random choices, run on the host against float64."""

from __future__ import annotations

import ctypes as c
import shutil
from pathlib import Path
from random import Random

import cuda_on_host as host
import cuda_samples as samples
import pytest
import torch

from kernelwright.core.expr import holds
from kernelwright.graph.loops import Load, Region
from kernelwright.propose import TEMPLATES
from kernelwright.propose.space import Choice
from kernelwright.propose.templates.base import Emitted, Template
from kernelwright.propose.templates.cuda import column, hold, row_text

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")

TEAMS = ("block", "lanes8", "lanes16", "lanes32", "cluster2", "cluster4", "grid2", "grid3", "grid22")
TOLERANCE = {"float32": 2e-5, "bfloat16": 1e-2, "float16": 2e-3}


def drawn_region(rng: Random) -> Region:
    rows, length = rng.choice((1, 3, 17, 40)), rng.choice((37, 64, 99, 255, 256, 1000, 1001, 2050))
    spatial, dtype = rng.choice((49, 50, 64)), rng.choice(("float32", "float16", "bfloat16"))
    made = (
        lambda: samples.softmax((rows, length), rng.random() < 0.5, dtype),
        lambda: samples.layernorm((rows, length), 1),
        lambda: samples.reduction((rows, length), (1,), rng.choice(("sum", "max", "mean"))),
        lambda: samples.rmsnorm_over_channels((2, rng.choice((5, 16, 33)), spatial)),
        lambda: samples.groupnorm((2, 3, rng.choice((2, 3)), spatial)),
        lambda: samples.batchnorm((rng.choice((2, 3)), 3, 1024 + length)),
        lambda: samples.reduction((rows, rng.choice((255, 256)), rng.choice((65, 67, 70, 80))), (1,), "mean"),
        lambda: samples.bias_gelu_residual((rows, spatial)),
        lambda: samples.swiglu((rows, spatial)),
    )
    return rng.choice(made)()


def drawn_choice(rng: Random, template: Template, region: Region) -> Choice:
    """A random choice, with small blocks and any team."""
    choice = template.space(region).random(rng).but(threads=rng.choice((64, 128)))
    if template.name == "cuda_row":
        choice = choice.but(team=rng.choice(TEAMS), stages=rng.choice((1, 2)))
    return choice


@pytest.mark.parametrize("seed", range(2))
def test_random_choices_mean_what_float64_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    templates = [TEMPLATES.get(name)() for name in TEMPLATES.names() if name.startswith("cuda_")]
    cases = []
    for number in range(20):
        region = drawn_region(rng)
        able = [template for template in templates if template.unavailable(region) is None]
        template = rng.choice(able)
        choice = drawn_choice(rng, template, region)
        # Little shared memory makes rings wrap within a row, or leaves no room for one.
        monkeypatch.setattr(row_text, "MULTIPROCESSORS", 22)
        monkeypatch.setattr(hold, "SHARED_BYTES", 1024 * rng.choice((227, 10, 11, 13)))
        cases.append((region, choice, template.emit(region, choice, f"k{number}")))
    library = host.build([emitted for _, _, emitted in cases], tmp_path)
    for number, (region, choice, emitted) in enumerate(cases):
        wrong = difference(library, emitted, region, {}, number)
        assert wrong is None, f"{wrong}: {region.name} {[d.extent for d in region.dims]} {dict(choice)}"


def difference(
    library: c.CDLL, emitted: Emitted, region: Region, axes: dict[str, int], seed: int
) -> str | None:
    """What is wrong with the results at the sizes of `region`, where nothing was before."""
    memory, generator = host.Memory(), torch.Generator().manual_seed(seed)
    sizes = host.buffer_sizes(region)
    for name, (size, dtype) in sizes.items():
        values = torch.randn(size, generator=generator) * 2 + 3
        memory.add(name, values.to(getattr(torch, dtype)))
    read = {node.access.buffer for node in region.nodes if isinstance(node, Load)}
    for name in {store.access.buffer for store in region.stores} - read:
        memory.get(name).fill_(torch.nan)
    expected = host.compute(region, {name: memory.get(name).clone() for name in sizes})
    host.run(library, emitted, memory, axes, seed)
    for name, values in expected.items():
        apart = float((memory.get(name).double() - values).abs().max())
        allowed = TOLERANCE[sizes[name][1]] * float(values.abs().max())
        if not apart <= allowed:
            return f"{name} is off by {apart}"
    return None if memory.untouched() else "a store outside"


OPEN = [
    samples.reduction((8, 64, 15), (1,), "mean"),
    samples.reduction((8, 256, 15), (1,), "min", "bfloat16"),
    samples.reduction((4, 256, 67), (1,), "mean"),
    samples.reduction((2, 64, 64), (1,)),
    samples.rmsnorm_over_channels((4, 16, 33)),
    samples.rmsnorm_over_channels((2, 16, 32)),
    samples.shifted_columns((8, 12, 7)),
    samples.softmax((8, 99)),
    samples.layernorm((4, 1001), 1),
    samples.layernorm((4, 4097), 1),
    samples.groupnorm((2, 2, 3, 50)),
    samples.reduction((4, 4099), (1,), "max"),
    samples.bias_gelu_residual((8, 21)),
    samples.relu((1024,), "bfloat16"),
    samples.swiglu((8, 49)),
]


@pytest.mark.parametrize("seed", range(2))
def test_kernels_are_right_at_any_size_of_their_domain(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel written where rows make whole vectors runs where they do not, and on nothing but its own."""
    rng, cases = Random(seed), []
    templates = [TEMPLATES.get(name)() for name in TEMPLATES.names() if name.startswith("cuda_")]
    monkeypatch.setattr(row_text, "MULTIPROCESSORS", 22)
    for region in OPEN:
        free = samples.open_ended(region)
        for template in (template for template in templates if template.unavailable(free) is None):
            choice = drawn_choice(rng, template, free)
            if template.name == "cuda_column":
                groups = template.space(free).default()["regroup"]
                choice = choice.but(vector=rng.choice((2, 4)), regroup=groups if seed else 1)
            cases.append((region, choice, template.emit(free, choice, f"k{len(cases)}")))
    library, ran = host.build([emitted for _, _, emitted in cases], tmp_path), 0
    for number, (region, choice, emitted) in enumerate(cases):
        for size in (1, 5):
            if holds(emitted.domain, {"n": size}):
                there = samples.at_size(region, size)
                wrong = difference(library, emitted, there, {"n": size}, number)
                assert wrong is None, (
                    f"{wrong}: {region.name} {[d.extent for d in there.dims]} {dict(choice)}"
                )
                ran += 1
    assert ran > len(OPEN)


@pytest.mark.parametrize("broken", ["_limit", "_if_inside"])
def test_a_forgotten_tail_and_a_store_to_others_show(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above would be no evidence if they did not see what they are there to see."""
    monkeypatch.setattr(column._Column, broken, lambda self: "")
    region = samples.reduction((8, 64, 15), (1,))
    free, template = samples.open_ended(region), TEMPLATES.get("cuda_column")()
    choice = template.space(free).default().but(vector=4, parts=2, threads=64)
    emitted = template.emit(free, choice, "k")
    library = host.build([emitted], tmp_path)
    assert difference(library, emitted, region, {"n": 8}, 0) is None
    there = samples.at_size(region, 3)
    if broken == "_limit":
        assert difference(library, emitted, there, {"n": 3}, 0) == "out is off by nan"
    else:
        with pytest.raises(AssertionError, match="not their own"):
            difference(library, emitted, there, {"n": 3}, 0)
