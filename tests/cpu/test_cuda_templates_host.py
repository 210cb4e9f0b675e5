"""The CUDA kernels run: on the host, as fibers, against float64 (see `cuda_on_host.h`).

What this cannot show: the memory model of a device, its own math functions, and speed. Those are for
`tests/gpu/test_cuda_templates.py`.
"""

from __future__ import annotations

import ctypes as c
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cuda_on_host as host
import cuda_samples as samples
import pytest
import torch

from kernelwright.graph.loops import Region
from kernelwright.propose import TEMPLATES
from kernelwright.propose.templates.base import Emitted
from kernelwright.propose.templates.cuda import hold, row_text

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


@dataclass(frozen=True)
class Case:
    template: str
    region: Region
    changes: dict[str, Any] = field(default_factory=dict)
    shared_kib: int = 227
    """Shared memory of the device, less for rings that hold a row and a part."""
    multiprocessors: int = 132
    """Of the device, fewer where a team should have many rows."""

    @property
    def label(self) -> str:
        sizes = "x".join(str(dim.extent) for dim in self.region.dims)
        changes = "-".join(f"{name}_{value}" for name, value in self.changes.items())
        return f"{self.template}-{self.region.name}-{sizes}-{changes}"

    def emitted(self, entry: str) -> Emitted:
        template = TEMPLATES.get(f"cuda_{self.template}")()
        assert template.unavailable(self.region) is None
        space = template.space(self.region)
        # Small blocks, whether a space lists them or not: few fibers, many steps.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hold, "SHARED_BYTES", self.shared_kib * 1024)
            patch.setattr(row_text, "MULTIPROCESSORS", self.multiprocessors)
            return template.emit(self.region, space.default().but(**self.changes), entry)


SMALL = {"threads": 64}
RING = {"hold": "shared", "waves": 1, "stages": 2, **SMALL}
CASES = [
    Case("pointwise", samples.relu((1000,))),
    Case("pointwise", samples.relu((16, 40), "bfloat16")),
    Case("pointwise", samples.bias_gelu_residual((37, 64))),
    Case("pointwise", samples.bias_gelu_residual((13, 21))),
    Case("pointwise", samples.bias_gelu_residual((8, 40), "float16")),
    Case("pointwise", samples.swiglu((9, 64)), {"waves": 4}),
    Case("pointwise", samples.transposed((24, 36))),
    Case("row", samples.softmax((37, 64))),
    Case("row", samples.softmax((300, 96)), {"team": "lanes8", "waves": 1, **SMALL}),
    Case("row", samples.softmax((5, 1000)), {"team": "block", **SMALL}),
    Case(
        "row", samples.softmax((5, 1000)),
        {"team": "block", "hold": "shared", "waves": 1, "stages": 2, "statistics": "two_pass", **SMALL},
    ),
    Case("row", samples.softmax((3, 4200)), {"team": "cluster4", "hold": "shared", **SMALL}),
    Case(
        "row", samples.softmax((136, 4160)),
        {"team": "cluster2", "waves": 1, "stages": 2, "statistics": "two_pass", **SMALL},
    ),
    Case("row", samples.softmax((3, 4112), True), {"team": "cluster2", "hold": "registers", **SMALL}),
    Case("row", samples.softmax((3, 4001), True), {"team": "block", "hold": "reload", **SMALL}),
    Case("row", samples.layernorm((5, 9000), 1), {"team": "grid16", "stages": 2, "hold": "shared", **SMALL}),
    Case(
        "row", samples.layernorm((3, 10000), 1),
        {"team": "grid33", "hold": "reload", "statistics": "two_pass", "stages": 1, **SMALL},
    ),
    Case("row", samples.layernorm((6, 8, 16), 2)),
    Case("row", samples.groupnorm((2, 4, 3, 64))),
    Case("row", samples.groupnorm((2, 4, 3, 50)), {"vector": 2}),
    Case("row", samples.batchnorm((4, 3, 64))),
    Case("row", samples.reduction((33, 77), (1,), "mean")),
    Case("row", samples.reduction((33, 128), (1,), "max", "bfloat16")),
    Case("row", samples.reduction((3, 1), (1,))),
    Case("column", samples.rmsnorm_over_channels((2, 16, 100)), SMALL),
    Case("column", samples.rmsnorm_over_channels((2, 16, 100)), {"down": 4, "hold": "shared", **SMALL}),
    Case("column", samples.rmsnorm_over_channels((3, 13, 7)), SMALL),
    Case("column", samples.rmsnorm_over_channels((2, 64, 40)), {"parts": 4, "down": 2, **SMALL}),
    Case("column", samples.reduction((3, 50, 33), (1,)), {"down": 4, **SMALL}),
    Case("column", samples.reduction((500, 40), (0,), "mean"), {"parts": 8, **SMALL}),
    Case("channel", samples.batchnorm((4, 3, 2048)), {"threads": 128}),
    Case("channel", samples.batchnorm((5, 3, 1001)), {"threads": 128, "statistics": "two_pass"}),
    Case("channel", samples.reduction((64, 128), (0, 1), "mean"), {"threads": 128}),
    Case("channel", samples.softmax((3, 5000)), {"threads": 128}),
    # Rings: rows follow each other through shared memory that holds one row, two, or one and a part.
    Case("row", samples.layernorm((7, 9000), 1), {"team": "grid16", "unroll": 1, **RING}, 8 + 4, 32),
    Case("row", samples.softmax((9, 9001)), {"team": "grid16", "statistics": "two_pass", **RING}, 8 + 5, 32),
    Case("row", samples.softmax((5, 3000)), {"team": "grid22", **RING, "waves": 2}, 227, 22),
    Case("row", samples.softmax((9, 4001), True), {"team": "cluster2", **RING}, 8 + 11, 8),
    Case("row", samples.softmax((9, 1536)), {"team": "block", "unroll": 2, **RING}, 227, 4),
    Case("row", samples.layernorm((9, 1000), 1), {"team": "block", **RING, "stages": 1}, 227, 4),
    Case("row", samples.softmax((50, 100)), {"team": "lanes16", "unroll": 1, **RING}, 227, 4),
    # Rows of odd lengths: vectors stick out at both ends.
    Case("row", samples.softmax((9, 1001), True, "float16"), {"hold": "registers"}),
    Case("row", samples.softmax((9, 1001), True, "float16"), {"team": "block", "hold": "shared", **SMALL}),
    Case("row", samples.layernorm((7, 999), 1), {"statistics": "online"}),
    Case("row", samples.layernorm((7, 998), 1), {"team": "block", "vector": 4, **SMALL}),
    Case("row", samples.softmax((5, 3)), {"vector": 4}),
    Case("row", samples.reduction((9, 1021), (1,), "max")),
    Case("channel", samples.softmax((3, 5001)), {"threads": 128, "parts": 4}),
    Case("channel", samples.reduction((1, 5003), (1,), "mean"), {"threads": 64, "parts": 3}),
    Case("pointwise", samples.bias_gelu_residual((13, 21)), {"vector": 4}),
    Case("pointwise", samples.relu((1003,), "bfloat16"), {"waves": 4}),
    # Columns whose rows make whole vectors only together.
    Case("column", samples.reduction((3, 256, 65), (1,)), SMALL),
    Case("column", samples.reduction((256, 75), (0,), "max"), {"down": 4, "parts": 2, **SMALL}),
    Case("column", samples.reduction((2, 512, 67), (1,), "mean", "bfloat16"), SMALL),
    Case("column", samples.reduction((256, 75), (0,), "mean"), {"regroup": 1, "vector": 4, **SMALL}),
    Case("pointwise", samples.shifted(1024, 3), {"vector": 4, "unroll": 1, "threads": 64}),
    # Chains of thousands in one thread.
    Case("column", samples.reduction((4096, 33), (0,)), {"down": 1, "unroll": 1, "regroup": 1, **SMALL}),
    Case("row", samples.reduction((700, 5000), (1,), "mean"), {"team": "lanes2", "unroll": 1, **SMALL}),
    Case("channel", samples.reduction((1, 70000), (1,)), {"threads": 64, "parts": 1, "unroll": 1}),
]  # fmt: skip
RINGS = [at for at, case in enumerate(CASES) if case.changes.get("stages") and case.template == "row"]
GRID_RING = next(at for at in RINGS if CASES[at].shared_kib < 16 and CASES[at].region.name == "layernorm")
TOLERANCE = {"float32": 1e-5, "bfloat16": 1e-2, "float16": 2e-3}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> c.CDLL:
    emitted = [case.emitted(f"k{at}") for at, case in enumerate(CASES)]
    return host.build(emitted, tmp_path_factory.mktemp("cuda"))


def drawn(region: Region, seed: int) -> host.Memory:
    memory, generator = host.Memory(), torch.Generator().manual_seed(seed)
    for name, (size, dtype) in host.buffer_sizes(region).items():
        values = torch.randn(size, generator=generator) * 2 + 3
        memory.add(name, values.to(getattr(torch, dtype)))
    return memory


def results(library: c.CDLL, case: Case, entry: str, memory: host.Memory, seed: int = 0) -> None:
    host.run(library, case.emitted(entry), memory, {}, seed)


@pytest.mark.parametrize("at", range(len(CASES)), ids=[case.label for case in CASES])
def test_as_float64_says(library: c.CDLL, at: int) -> None:
    case = CASES[at]
    memory = drawn(case.region, at)
    sizes = host.buffer_sizes(case.region)
    before = {name: memory.get(name).clone() for name in sizes}
    results(library, case, f"k{at}", memory)
    for name, expected in host.compute(case.region, before).items():
        found = memory.get(name).double()
        assert float((found - expected).abs().max()) <= TOLERANCE[sizes[name][1]] * float(
            expected.abs().max()
        )
    assert memory.untouched()


@pytest.mark.parametrize("at", [9, 12, 15, 25, 30, *RINGS], ids=lambda at: CASES[at].label)
def test_same_bits_in_any_order_of_threads(library: c.CDLL, at: int) -> None:
    found = []
    for seed in (1, 2):
        memory = drawn(CASES[at].region, at)
        results(library, CASES[at], f"k{at}", memory, seed)
        found.append(memory.get("out").clone())
    assert torch.equal(*found)


@pytest.mark.parametrize("at", [7, 8, 10, 11, 33], ids=lambda at: CASES[at].label)
def test_softmax_of_special_rows_is_torchs(library: c.CDLL, at: int) -> None:
    region = CASES[at].region
    rows, cols = (dim.extent for dim in region.dims)
    x = torch.randn(rows, cols)
    x[0] = -torch.inf
    x[1, 3] = torch.inf
    x[2, 5] = torch.nan
    if rows > 3:
        x[3, 1:] = -torch.inf
    memory = drawn(region, at)
    memory.get("x").copy_(x.flatten())
    results(library, CASES[at], f"k{at}", memory)
    torch.testing.assert_close(memory.get("out").view(rows, cols), torch.softmax(x, 1), equal_nan=True)


def test_maximum_propagates_nan(library: c.CDLL) -> None:
    at = next(at for at, case in enumerate(CASES) if case.region.name == "max_reduction")
    memory = drawn(CASES[at].region, at)
    memory.get("x")[5] = torch.nan
    results(library, CASES[at], f"k{at}", memory)
    assert torch.isnan(memory.get("out")[0]) and not torch.isnan(memory.get("out")[1:]).any()


LONG = range(len(CASES) - 3, len(CASES))


@pytest.mark.parametrize("at", LONG, ids=lambda at: CASES[at].label)
@pytest.mark.parametrize("value", [0.1, -1686.2903, 3e-41, 1e30])
def test_a_long_sum_of_one_value_is_exact_to_a_few_roundoffs(library: c.CDLL, at: int, value: float) -> None:
    """Every addition rounds the same way: a plain chain drifts away by its length."""
    memory = drawn(CASES[at].region, at)
    memory.get("x").fill_(value)
    before = {name: memory.get(name).clone() for name in host.buffer_sizes(CASES[at].region)}
    results(library, CASES[at], f"k{at}", memory)
    expected = host.compute(CASES[at].region, before)["out"]
    error = (memory.get("out").double() - expected).abs()
    assert bool((error <= 4 * 2.0**-24 * expected.abs() + 1e-44).all())


@pytest.mark.parametrize("at", LONG, ids=lambda at: CASES[at].label)
@pytest.mark.parametrize(
    "values", [(torch.inf, 1.0), (torch.nan, 1.0), (torch.inf, -torch.inf), (3e38, 3e38)]
)
def test_a_sum_that_is_not_finite_is_so(library: c.CDLL, at: int, values: tuple[float, float]) -> None:
    region = CASES[at].region
    memory = drawn(region, at)
    whole = memory.get("x").fill_(1.0).view([dim.extent for dim in region.dims])
    together = whole[:, 0] if 0 in region.reduced else whole[0]
    together[0], together[len(together) // 2] = values
    results(library, CASES[at], f"k{at}", memory)
    found = memory.get("out")
    torch.testing.assert_close(found[0], torch.tensor(values).sum(), equal_nan=True)
    assert bool(torch.isfinite(found[1:]).all())


@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_variance_survives_a_large_mean(library: c.CDLL, offset: float) -> None:
    """Online moments of x + offset: as good as two passes, where a sum of squares would be lost."""
    at = next(
        at for at, case in enumerate(CASES) if case.template == "channel" and case.region.name == "batchnorm"
    )
    memory = drawn(CASES[at].region, at)
    memory.get("x").add_(offset)
    before = {name: memory.get(name).clone() for name in host.buffer_sizes(CASES[at].region)}
    results(library, CASES[at], f"k{at}", memory)
    expected = host.compute(CASES[at].region, before)["out"]
    error = float((memory.get("out").double() - expected).abs().max())
    assert error < 1e-6 * offset + 1e-4


@pytest.mark.parametrize(
    ("at", "text", "instead"),
    [
        (9, "__syncthreads();", ""),
        (10, "kw_copy_wait_for<0, 1>(1 - i / 4);", ""),
        (11, "kw_cluster_barrier();", "__syncthreads();"),
        (15, "waits |= static_cast<unsigned>(word >> 32) != number;", ""),
        (GRID_RING, ", ++number", ""),
        (GRID_RING, "slot = s;", "slot = s > 0 ? s - 1 : s + 1;"),
    ],
)
def test_a_missing_barrier_shows(tmp_path: Path, at: int, text: str, instead: str) -> None:
    """The fibers would be no evidence if they did not see what they are there to see."""
    case = CASES[at]
    emitted = case.emitted(f"k{at}")
    source = host.host_text([emitted])
    broken = source.replace(text, instead)
    assert broken != source
    library = host.build_text(broken, tmp_path)
    before = drawn(case.region, at)
    expected = host.compute(case.region, {n: before.get(n) for n in host.buffer_sizes(case.region)})["out"]
    worst = 0.0
    for seed in range(3):
        memory = drawn(case.region, at)
        host.run(library, emitted, memory, {}, seed)
        found = memory.get("out").double()
        worst = max(worst, float(torch.nan_to_num((found - expected).abs(), nan=torch.inf).max()))
        if worst > 1e-3 * float(expected.abs().max()):
            return
    pytest.fail(f"off by {worst} at most")


def test_symbolic_row_count_serves_other_sizes(tmp_path: Path) -> None:
    region = samples.softmax((40, 128))
    rows, cols = region.dims
    free = replace(region, dims=(replace(rows, size="batch"), cols))
    template = TEMPLATES.get("cuda_row")()
    emitted = template.emit(free, template.space(free).default(), "rows")
    library = host.build([emitted], tmp_path)
    for batch in (1, 9, 40):
        memory = host.Memory()
        x = torch.randn(batch, 128)
        memory.add("x", x)
        memory.add("out", torch.zeros(batch, 128))
        host.run(library, emitted, memory, {"batch": batch}, batch)
        torch.testing.assert_close(memory.get("out").view(batch, 128), torch.softmax(x, 1))
        assert memory.untouched()
