"""Every CUDA template compiles for sm_90a, quickly, and its defaults spill no registers."""

from __future__ import annotations

import re
import time
from importlib.resources import files
from random import Random

import cuda_samples
import pytest

from kernelwright.propose import TEMPLATES
from kernelwright.propose.templates.base import Emitted

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="no NVRTC")
SAMPLES = cuda_samples.at_scale()
CUDA = [TEMPLATES.get(name)() for name in TEMPLATES.names() if name.startswith("cuda_")]
PAIRS = [
    pytest.param(template, region, id=f"{template.name}-{name}")
    for name, region in SAMPLES.items()
    for template in CUDA
    if template.unavailable(region) is None
]


def compiled(emitted: Emitted) -> str:
    """The compiler's log; the test fails if it does not compile."""
    texts = [(files("kernelwright.propose.templates") / name).read_text() for name in sorted(emitted.header)]
    source = "\n".join([*texts, emitted.source])
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    options = [b"--gpu-architecture=sm_90a", b"--std=c++20", b"--ptxas-options=-v"]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    text = log.decode().rstrip("\0")
    assert code == nvrtc.nvrtcResult.NVRTC_SUCCESS, text + emitted.source
    return text


@pytest.mark.parametrize(("template", "region"), PAIRS)
def test_default_compiles_in_two_seconds_without_spills_or_warnings(template, region) -> None:
    emitted = template.emit(region, template.space(region).default(), "r0")
    start = time.process_time()
    log = compiled(emitted)
    assert time.process_time() - start < 2.0
    assert "warning" not in log
    assert set(re.findall(r"(\d+) bytes spill", log)) == {"0"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("template", CUDA, ids=lambda template: template.name)
def test_random_choices_compile(template, seed: int) -> None:
    rng = Random(seed)
    regions = [region for region in SAMPLES.values() if template.unavailable(region) is None]
    region = rng.choice(regions)
    compiled(template.emit(region, template.space(region).random(rng), "r0"))


def test_double_precision_compiles() -> None:
    region = cuda_samples.softmax((64, 4096), dtype="float64")
    region = type(region)(
        region.name, region.dims, region.reduced, region.nodes, region.stores, compute_dtype="float64"
    )
    row = TEMPLATES.get("cuda_row")()
    compiled(row.emit(region, row.space(region).default(), "r0"))
