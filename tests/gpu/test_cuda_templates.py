"""The CUDA templates on a device: defaults and random choices of every template against float64.

Needs a Hopper GPU (sm_90a) and NVRTC. A random choice may fail to launch (a cluster that fits no
part of this GPU); a default may not, and what runs must be right, bit for bit the same twice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

import cuda_on_host as host
import cuda_samples as samples

from benchmarks.cuda_device import CannotRun, Loaded, compile_text
from kernelwright.graph.loops import Region
from kernelwright.propose import TEMPLATES
from kernelwright.propose.space import Choice
from kernelwright.propose.templates.base import Template

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="no Hopper GPU"
)

CUDA = [TEMPLATES.get(name)() for name in TEMPLATES.names() if name.startswith("cuda_")]
REGIONS = {
    "relu": samples.relu((1000, 4096)),
    "relu_bf16": samples.relu((1000, 4096), "bfloat16"),
    "gelu_odd": samples.bias_gelu_residual((1001, 4095)),
    "gelu_fp16": samples.bias_gelu_residual((512, 4096), "float16"),
    "swiglu": samples.swiglu((777, 4096)),
    "transposed": samples.transposed((1024, 2048)),
    "softmax_32": samples.softmax((5001, 32)),
    "softmax_1000": samples.softmax((3001, 1000)),
    "softmax_8192": samples.softmax((301, 8192)),
    "softmax_393216": samples.softmax((67, 393216)),
    "log_softmax_50257": samples.softmax((101, 50257), True),
    "log_softmax_bf16": samples.softmax((301, 4096), True, "bfloat16"),
    "layernorm_768": samples.layernorm((4097, 768), 1),
    "layernorm_4m": samples.layernorm((5, 64, 256, 256), 3),
    "instancenorm": samples.layernorm((131, 512 * 512), 1),
    "groupnorm": samples.groupnorm((5, 8, 8, 512 * 512)),
    "groupnorm_small": samples.groupnorm((5, 8, 3, 77)),
    "batchnorm": samples.batchnorm((16, 24, 128 * 128)),
    "batchnorm_long": samples.batchnorm((16, 5, 512 * 512)),
    "rmsnorm_channels": samples.rmsnorm_over_channels((3, 64, 256 * 256)),
    "rmsnorm_odd": samples.rmsnorm_over_channels((3, 37, 999)),
    "sum_dim1": samples.reduction((7, 4096, 4095), (1,)),
    "max_dim1": samples.reduction((7, 4096, 1024), (1,), "max"),
    "column_mean": samples.reduction((16384, 1024), (0,), "mean"),
    "row_max": samples.reduction((4096, 8192), (1,), "max"),
    "full_mean": samples.reduction((4096, 8192), (0, 1), "mean"),
}
PAIRS = [
    pytest.param(region, template, id=f"{name}-{template.name}")
    for name, region in REGIONS.items()
    for template in CUDA
    if template.unavailable(region) is None
]
TOLERANCE = {"float32": 4e-6, "float16": 1e-3, "bfloat16": 8e-3}


def drawn(region: Region) -> dict[str, torch.Tensor]:
    generator = torch.Generator("cuda").manual_seed(3)
    found = {}
    for name, (size, dtype) in host.buffer_sizes(region).items():
        values = torch.randn(size, device="cuda", generator=generator) * 2 + 1
        found[name] = values.to(getattr(torch, dtype))
    return found


def outcome(template: Template, region: Region, choice: Choice, before: dict[str, torch.Tensor]) -> dict:
    emitted = template.emit(region, choice, "kw")
    tensors = {name: tensor.clone() for name, tensor in before.items()}
    loaded = Loaded(compile_text(emitted)[0], emitted, tensors)
    loaded()
    torch.cuda.synchronize()
    loaded.close()
    return tensors


def worst(region: Region, found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    """Largest error over all stored buffers, in units of what their type allows."""
    sizes = host.buffer_sizes(region)
    return max(
        float((found[name].double() - values).abs().max())
        / (TOLERANCE[sizes[name][1]] * float(values.abs().max()))
        for name, values in expected.items()
    )


@pytest.mark.parametrize(("region", "template"), PAIRS)
def test_default_and_random_choices_are_right_and_repeatable(region: Region, template: Template) -> None:
    before = drawn(region)
    expected = host.compute(region, before)
    space = template.space(region)
    rng = Random(5)
    ran = 0
    for choice in [space.default(), *(space.random(rng) for _ in range(8))]:
        try:
            first = outcome(template, region, choice, before)
        except CannotRun as reason:
            assert choice != space.default(), str(reason)
            continue
        ran += 1
        assert worst(region, first, expected) <= 1, f"{dict(choice)}"
        second = outcome(template, region, choice, before)
        assert all(torch.equal(first[name], second[name]) for name in expected), f"{dict(choice)}"
    assert ran >= 5


def test_special_rows_of_softmax_are_torchs() -> None:
    x = torch.randn(64, 393216, device="cuda")
    x[0] = -torch.inf
    x[1, 3] = torch.inf
    x[2, 5] = torch.nan
    x[3, 1:] = -torch.inf
    region = samples.softmax((64, 393216))
    row = TEMPLATES.get("cuda_row")()
    for statistics in ("online", "two_pass"):
        choice = row.space(region).default().but(statistics=statistics)
        found = outcome(row, region, choice, {"x": x.flatten(), "out": torch.empty_like(x).flatten()})
        torch.testing.assert_close(found["out"].view_as(x), torch.softmax(x, 1), equal_nan=True)
