"""Measures the ceilings: the judge's side, which starts a worker, and the worker's side.

CPU: one C++ unit (`ceilings.cpp`) that reads, writes and copies with all threads, writing once with
ordinary and once with non-temporal stores; the better of both is the ceiling. Products are torch's.
CUDA: torch's own sum, fill and copy over at least a gigabyte, which reach the device's rates.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import Buffer, BufferArg, Call, IntArg, Plan
from kernelwright.core.target import Target
from kernelwright.execute.faults import ours
from kernelwright.execute.worker_environment import timed_environment
from kernelwright.languages import build
from kernelwright.measure.ceilings import Ceilings
from kernelwright.measure.environment import allowed_cores, cpu_llc_bytes, cpu_model, identity
from kernelwright.sandbox import Limits, Worker

_CPU_ROUNDS = 15
_CPU_PRODUCT = 1536
_CUDA_REPEATS = 9
_CUDA_PRODUCT = 8192
_CPU_FLOATS = 64 << 20
_CUDA_FLOATS = 512 << 20
_READ, _WRITE, _COPY = ("in", "out"), ("out",), ("in", "out")
_ENTRIES = {
    "read_all": _READ, "write_plain": _WRITE, "write_streamed": _WRITE,
    "copy_plain": _COPY, "copy_streamed": _COPY,
}  # fmt: skip
"""Entry of the C++ unit to the buffers that it takes before the count."""


def measure(target: Target, worker: Worker | None = None) -> Ceilings:
    """Measure this machine's ceilings now; takes some seconds and all threads."""
    with ours("measuring what this machine can do"):
        rates = _measure_cuda(worker) if target.name == "cuda" else _measure_cpu(target)
    return Ceilings(
        target=target.name,
        identity=identity(target.name),
        measured_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **rates,
    )


def _measure_cuda(worker: Worker | None) -> dict[str, Any]:
    if worker is None:
        with Worker.start("ceilings", Limits.trusted(), preload=("torch",)) as own:
            return _measure_cuda(own)
    rates: dict[str, Any] = worker.call("kernelwright.measure.ceiling_runs:cuda_rates", timeout_s=180.0)
    return rates


def _measure_cpu(target: Target) -> dict[str, Any]:
    built = build(_kernel(), target)
    if built.artifact is None:
        raise EnvironmentFault(f"the ceilings' C++ unit does not build: {built.log.strip()[:300]}")
    threads = target.threads or allowed_cores()
    llc = cpu_llc_bytes() or 32 << 20
    with Worker.start(
        "ceilings", Limits.trusted(), env=timed_environment(threads), preload=("torch",)
    ) as worker:
        rates: dict[str, Any] = worker.call(
            "kernelwright.measure.ceiling_runs:cpu_rates", 180.0, artifact=built.artifact, llc_bytes=llc
        )
    return {**rates, "device": cpu_model(), "threads": threads, "llc_bytes": llc}


def _kernel() -> Kernel:
    text = Path(__file__).with_name("ceilings.cpp").read_text()
    buffers = (
        Buffer(name="in", role="input", dtype="float32", shape=("n",)),
        Buffer(name="out", role="output", dtype="float32", shape=("n",)),
    )
    count = IntArg(value="n")
    calls = tuple(
        Call(entry=entry, args=(*(BufferArg(buffer=name) for name in names), count))
        for entry, names in _ENTRIES.items()
    )
    return Kernel(
        name="ceilings",
        problem="",
        language="cpp",
        sources=(Source(path="ceilings.cpp", text=text),),
        plan=Plan(buffers=buffers, run=calls),
        proposer=Proposer(name="measure"),
    )


def cpu_rates(state: dict[str, Any], artifact: str, llc_bytes: int) -> dict[str, Any]:
    """Worker side: GB/s of each entry over 256 MB buffers, of a cached copy, and product TFLOP/s."""
    import torch

    library = ctypes.CDLL(artifact)
    source, sink = torch.zeros(_CPU_FLOATS), torch.zeros(_CPU_FLOATS)
    small = max(llc_bytes // 16 // 64 * 16, 1 << 14)
    calls = {entry: _entry_call(library, entry, source, sink, _CPU_FLOATS) for entry in _ENTRIES}
    calls["cached"] = _entry_call(library, "copy_plain", source, sink, small)
    calls["product"] = _product(_CPU_PRODUCT, torch.float32, "cpu")
    seconds = _best_seconds(calls)
    gbs = {
        entry: 4 * _CPU_FLOATS * (entry.startswith("copy") + 1) / seconds[entry] / 1e9 for entry in _ENTRIES
    }
    return {
        "read_gbs": gbs["read_all"],
        "write_gbs": max(gbs["write_plain"], gbs["write_streamed"]),
        "copy_gbs": max(gbs["copy_plain"], gbs["copy_streamed"]),
        "cached_gbs": 8 * small / seconds["cached"] / 1e9,
        "fp32_tflops": 2 * _CPU_PRODUCT**3 / seconds["product"] / 1e12,
        "notes": {"gbs": gbs, "buffer_bytes": 4 * _CPU_FLOATS, "cached_buffer_bytes": 4 * small},
    }


def _entry_call(library: Any, entry: str, source: Any, sink: Any, count: int) -> Callable[[], Any]:
    values = {"in": ctypes.c_void_p(source.data_ptr()), "out": ctypes.c_void_p(sink.data_ptr())}
    cells = [*(values[name] for name in _ENTRIES[entry]), ctypes.c_int64(count)]
    table = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(cell) for cell in cells))
    function = getattr(library, f"kw_{entry}")
    return lambda: (function(table), cells)


def _best_seconds(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Shortest time of each call; rounds go over all of them, so that no one disturbance meets one alone."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(_CPU_ROUNDS):
        for name, call in calls.items():
            for _ in range(2):
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def cuda_rates(state: dict[str, Any]) -> dict[str, Any]:
    """Worker side: GB/s of sum, fill and copy over 2 GiB, and product TFLOP/s by type."""
    import torch

    if not torch.cuda.is_available():
        raise EnvironmentFault("no CUDA device is visible; run on a machine with a GPU or use --target cpu")
    props = torch.cuda.get_device_properties(0)
    count = min(_CUDA_FLOATS, props.total_memory // 32)
    source = torch.ones(count, device="cuda")
    sink = torch.empty_like(source)
    small, cached = source[: props.L2_cache_size // 16], sink[: props.L2_cache_size // 16]
    return {
        "device": props.name,
        "llc_bytes": props.L2_cache_size,
        "read_gbs": 4 * count / _device_seconds(lambda: source.sum()) / 1e9,
        "write_gbs": 4 * count / _device_seconds(lambda: sink.fill_(1.5)) / 1e9,
        "copy_gbs": 8 * count / _device_seconds(lambda: sink.copy_(source)) / 1e9,
        "cached_gbs": 8 * small.numel() * 16 / _device_seconds(_repeated(cached, small)) / 1e9,
        "fp32_tflops": _cuda_tflops(torch.float32),
        "tf32_tflops": _cuda_tflops(torch.float32, tf32=True),
        "half_tflops": _cuda_tflops(torch.bfloat16),
        "notes": {"buffer_bytes": 4 * count, "cached_buffer_bytes": 4 * small.numel()},
    }


def _repeated(sink: Any, source: Any) -> Callable[[], None]:
    def work() -> None:
        for _ in range(16):
            sink.copy_(source)

    return work


def _device_seconds(work: Callable[[], Any]) -> float:
    import torch

    work()
    taken: list[float] = []
    for _ in range(_CUDA_REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        end.record()
        end.synchronize()
        taken.append(float(start.elapsed_time(end)) / 1e3)
    return min(taken)


def _product(size: int, dtype: Any, device: str) -> Callable[[], Any]:
    import torch

    a = torch.randn(size, size, device=device, dtype=dtype)
    b = torch.randn(size, size, device=device, dtype=dtype)
    return lambda: torch.mm(a, b)


def _cuda_tflops(dtype: Any, tf32: bool = False) -> float:
    import torch

    kept = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    seconds = _device_seconds(_product(_CUDA_PRODUCT, dtype, "cuda"))
    torch.backends.cuda.matmul.allow_tf32 = kept
    return 2 * _CUDA_PRODUCT**3 / seconds / 1e12
