"""Random regions of awkward sizes under random choices, run on the host against float64."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import cuda_on_host as host
import cuda_samples as samples
import pytest
import torch

from kernelwright.graph.loops import Region
from kernelwright.propose import TEMPLATES
from kernelwright.propose.space import Choice
from kernelwright.propose.templates import cuda_hold, cuda_row_text
from kernelwright.propose.templates.base import Template

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
        monkeypatch.setattr(cuda_row_text, "MULTIPROCESSORS", 22)
        monkeypatch.setattr(cuda_hold, "SHARED_BYTES", 1024 * rng.choice((227, 10, 11, 13)))
        cases.append((region, choice, template.emit(region, choice, f"k{number}")))
    library = host.build([emitted for _, _, emitted in cases], tmp_path)
    for number, (region, choice, emitted) in enumerate(cases):
        memory, generator = host.Memory(), torch.Generator().manual_seed(number)
        sizes = host.buffer_sizes(region)
        for name, (size, dtype) in sizes.items():
            values = torch.randn(size, generator=generator) * 2 + 3
            memory.add(name, values.to(getattr(torch, dtype)))
        expected = host.compute(region, {name: memory.get(name).clone() for name in sizes})
        host.run(library, emitted, memory, {}, number)
        for name, values in expected.items():
            apart = float((memory.get(name).double() - values).abs().max())
            allowed = TOLERANCE[sizes[name][1]] * float(values.abs().max())
            assert apart <= allowed, f"{region.name} {[d.extent for d in region.dims]} {dict(choice)}"
        assert memory.untouched()
