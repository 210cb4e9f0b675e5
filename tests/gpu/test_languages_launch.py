"""Cubins of both GPU languages, loaded by the driver and launched with the plan's arguments alone."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU", allow_module_level=True)
driver = pytest.importorskip("cuda.bindings.driver")
sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from languages_cases import SM_90A, cuda, triton  # noqa: E402

from kernelwright.core.kernel import Kernel  # noqa: E402
from kernelwright.languages import build  # noqa: E402


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))


def checked(result: tuple) -> object:
    assert result[0] == driver.CUresult.CUDA_SUCCESS, result[0]
    return result[1] if len(result) > 1 else None


def launch(kernel: Kernel, entry: str, blocks: int, values: list) -> None:
    """Launch with exactly as many parameters as the plan has; what lies behind them is unmapped."""
    made = build(kernel, SM_90A)
    assert made.status == "built", made.log
    torch.cuda.synchronize()
    module = checked(driver.cuModuleLoadData(Path(made.artifact or "").read_bytes()))
    function = checked(driver.cuModuleGetFunction(module, entry.encode()))
    addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    dynamic = made.resources[entry].get("dynamic_shared_bytes", 0)
    place = ctypes.addressof(addresses)
    checked(driver.cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, dynamic, 0, place, 0))
    torch.cuda.synchronize()
    checked(driver.cuModuleUnload(module))


@pytest.mark.parametrize("make", [cuda, triton], ids=["cuda", "triton"])
def test_a_kernel_computes_what_it_says(make: object) -> None:
    n = 100_003
    x = torch.randn(n, device="cuda")
    out = torch.zeros(n, device="cuda")
    values = [
        ctypes.c_void_p(x.data_ptr()),
        ctypes.c_void_p(out.data_ptr()),
        ctypes.c_int64(n),
        ctypes.c_float(2.0),
    ]
    launch(make(), "scale", -(-n // 256), values)  # type: ignore[operator]
    assert torch.equal(out, x * 2)


def test_static_shared_memory_of_a_triton_reduction() -> None:
    text = """import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0) * by)
"""
    x = torch.randn(64, 4096, dtype=torch.float32, device="cuda")
    out = torch.zeros(64, device="cuda")
    values = [
        ctypes.c_void_p(x.data_ptr()),
        ctypes.c_void_p(out.data_ptr()),
        ctypes.c_int64(x.numel()),
        ctypes.c_float(3),
    ]
    launch(triton(text, options=("BLOCK=4096", "num_warps=8", "aligned=x_ptr")), "scale", 64, values)
    torch.testing.assert_close(out, x.sum(1) * 3, rtol=1e-4, atol=1e-3)
