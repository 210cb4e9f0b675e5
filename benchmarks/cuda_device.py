"""Compiles, loads, launches and times emitted CUDA steps with nothing but NVRTC and the driver.

For benchmarks of templates alone: no store, no worker, no verdict. Launches go through
`cuLaunchKernelEx` by ctypes on torch's current stream.
"""

from __future__ import annotations

import ctypes as c
import statistics
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import torch

from kernelwright.core.expr import evaluate
from kernelwright.core.plan import BufferArg, IntArg, Launch, Memset
from kernelwright.propose.templates.base import Emitted

_CLUSTER, _COOPERATIVE = 4, 2
_MOST_DYNAMIC_SHARED, _NON_PORTABLE_CLUSTER = 8, 14


class CannotRun(Exception):
    """A choice that does not compile, load or launch; the text says why."""


class _Attribute(c.Structure):
    _fields_ = (("id", c.c_int), ("pad", c.c_int), ("value", c.c_uint * 16))


class _Config(c.Structure):
    _fields_ = (
        ("grid", c.c_uint * 3), ("block", c.c_uint * 3), ("shared", c.c_uint), ("stream", c.c_void_p),
        ("attributes", c.POINTER(_Attribute)), ("count", c.c_uint),
    )  # fmt: skip


@cache
def driver() -> c.CDLL:
    """The CUDA driver."""
    return c.CDLL("libcuda.so.1")


def _check(code: int, what: str) -> None:
    if code:
        text = c.c_char_p()
        driver().cuGetErrorName(code, c.byref(text))
        raise CannotRun(f"{what}: {(text.value or b'?').decode()}")


def compile_text(emitted: Emitted) -> tuple[bytes, str]:
    """Cubin for sm_90a and the compiler's log; CannotRun if it does not compile."""
    from cuda.bindings import nvrtc

    texts = [(files("kernelwright.propose.templates") / name).read_text() for name in sorted(emitted.header)]
    source = "\n".join([*texts, emitted.source])
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    options = [b"--gpu-architecture=sm_90a", b"--std=c++20", b"--ptxas-options=-v"]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    text = bytes(log).rstrip(b"\0").decode()
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CannotRun(text[:2000])
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    cubin = bytearray(size)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(program)
    return bytes(cubin), text


class Loaded:
    """Emitted steps on the device, bound to tensors by buffer name."""

    def __init__(self, cubin: bytes, emitted: Emitted, tensors: Mapping[str, torch.Tensor]) -> None:
        self._module = c.c_void_p()
        _check(driver().cuModuleLoadData(c.byref(self._module), cubin), "load")
        self._tensors = dict(tensors)
        for buffer in emitted.scratch:
            shape = [evaluate(size, {}) for size in buffer.shape]
            self._tensors[buffer.name] = torch.empty(shape, dtype=torch.int32, device="cuda")
        self._kept: list[Any] = []
        self._calls = [self._bound(step) for step in emitted.steps]

    def _bound(self, step: Any) -> Callable[[], None]:
        if isinstance(step, Memset):
            tensor = self._tensors[step.buffer]
            return lambda: _check(
                driver().cuMemsetD8Async(
                    c.c_void_p(tensor.data_ptr()), step.byte, c.c_size_t(tensor.nbytes), _stream()
                ),
                "memset",
            )
        return self._launch(step)

    def _launch(self, step: Launch) -> Callable[[], None]:
        function = c.c_void_p()
        _check(driver().cuModuleGetFunction(c.byref(function), self._module, step.entry.encode()), "entry")
        shared, cluster = evaluate(step.shared_bytes, {}), evaluate(step.cluster[0], {})
        _check(driver().cuFuncSetAttribute(function, _MOST_DYNAMIC_SHARED, shared), "shared memory")
        if cluster > 8:
            _check(driver().cuFuncSetAttribute(function, _NON_PORTABLE_CLUSTER, 1), "cluster")
        values = [self._value(arg) for arg in step.args]
        args = (c.c_void_p * len(values))(*(c.addressof(value) for value in values))
        attributes = _attributes(cluster, step.cooperative)
        config = _Config(
            grid=_three(step.grid), block=_three(step.block), shared=shared,
            attributes=attributes, count=len(attributes),
        )  # fmt: skip
        self._kept += [values, args, attributes, config]

        def call() -> None:
            config.stream = _stream()
            _check(driver().cuLaunchKernelEx(c.byref(config), function, args, None), step.entry)

        return call

    def _value(self, arg: Any) -> Any:
        if isinstance(arg, BufferArg):
            return c.c_void_p(self._tensors[arg.buffer].data_ptr())
        assert isinstance(arg, IntArg)
        return c.c_longlong(evaluate(arg.value, {}))

    def __call__(self) -> None:
        """Enqueue all steps."""
        for call in self._calls:
            call()

    def close(self) -> None:
        """Unload."""
        driver().cuModuleUnload(self._module)


def _stream() -> c.c_void_p:
    return c.c_void_p(torch.cuda.current_stream().cuda_stream)


def _three(sizes: Any) -> Any:
    return (c.c_uint * 3)(*(evaluate(size, {}) for size in sizes))


def _attributes(cluster: int, cooperative: bool) -> Any:
    found = []
    if cluster > 1:
        found.append(_Attribute(id=_CLUSTER, value=(c.c_uint * 16)(cluster, 1, 1)))
    if cooperative:
        found.append(_Attribute(id=_COOPERATIVE, value=(c.c_uint * 16)(1)))
    return (_Attribute * len(found))(*found)


class Clock:
    """Times of single calls by device events, caches flushed by reading, host ahead of the device."""

    def __init__(self) -> None:
        self._flush = torch.zeros(2**26, device="cuda")

    def ms(self, call: Callable[[], Any], samples: int = 9) -> float:
        """Median over `samples` calls after one that is not counted."""
        call()
        torch.cuda.synchronize()
        pairs = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(samples)
        ]
        for start, end in pairs:
            self._flush.sum()
            torch.cuda._sleep(300_000)
            start.record()
            call()
            end.record()
            torch.cuda.synchronize()
        return statistics.median(start.elapsed_time(end) for start, end in pairs)
