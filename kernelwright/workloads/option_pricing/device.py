"""Options whose arguments lie on a GPU: priced there, by kernels of the same mathematics.

Tensors of one CUDA device and numbers go together; results are tensors on that device, and the call is put
into torch's current stream. With `on_error="ignore"` nothing waits for the GPU; the other policies read back
whether there were faults, and wait for that. float32 tensors are read and written as such; arithmetic is in
64 bits.

Not covered: texts as flags beside tensors (give +1 and -1), gradients, several devices.
"""

from __future__ import annotations

import ctypes as c
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from struct import pack, unpack
from typing import Any

from kernelwright.core.dtypes import Dtype
from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.target import Target
from kernelwright.execute.bind import bind
from kernelwright.execute.bound import BoundLaunch, BoundMemset
from kernelwright.execute.launcher import DeviceModule, Program
from kernelwright.languages import build
from kernelwright.workloads.option_pricing.containers import plain
from kernelwright.workloads.option_pricing.faults import FAULT_WORDS, KINDS
from kernelwright.workloads.option_pricing.kernels import device_kernel
from kernelwright.workloads.option_pricing.kernels.results import level_of

MOST_PROGRAMS = 256
"""Forms of calls (options, inputs that are one value, results) that are kept ready; the oldest goes first."""
_LAST_POSITION = 2**64 - 1
_lock = threading.Lock()


def on_device(values: Sequence[Any]) -> bool:
    """Whether some of these are tensors on a CUDA device."""
    return any(is_there(each) for each in values)


def is_there(value: Any) -> bool:
    """Whether this is a tensor on a CUDA device, which nobody can have made without torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and value.is_cuda


def answers_there(
    entry: str, values: Sequence[Any], rows: int, numbers: tuple[int, ...],
    faults: c.Array[c.c_int64], wait: bool,
) -> list[Any]:  # fmt: skip
    """`rows` tensors of results; `faults` is filled in as a kernel on the CPU does, with zeros unless `wait`.

    UsageError for tensors of several devices, arrays beside tensors, and what does not broadcast.
    """
    import torch

    device = _device(values)
    numbers_of = [_plain(value, device) for value in values]
    dtype, shape = _dtype(numbers_of), _shape(numbers_of)
    count = prod(shape)
    ready = [_ready(value, dtype, shape) for value in numbers_of]
    results = torch.empty((rows, *shape), dtype=dtype, device=device)
    found = torch.empty(FAULT_WORDS, dtype=torch.int64, device=device)
    scalars = sum(1 << k for k, value in enumerate(ready) if isinstance(value, int))
    pointers = [value if isinstance(value, int) else value.data_ptr() for value in (*ready, results, found)]
    with torch.cuda.device(device), _lock:
        form = (count, scalars, *numbers)
        program = _program(entry, _name(dtype), torch.cuda.current_device(), form)
        program.run((c.c_void_p * len(pointers))(*pointers), torch.cuda.current_stream().cuda_stream)
    report: list[Any] = _read(found.tolist()) if wait else [0] * FAULT_WORDS
    faults[:] = report
    return list(results.unbind(0))


def _read(words: list[int]) -> list[int]:
    """Faults with positions instead of their complements."""
    kinds = len(KINDS)
    positions = [_LAST_POSITION - word % 2**64 if word else 2**63 - 1 for word in words[kinds : 2 * kinds]]
    return [*words[:kinds], *positions, words[-1]]


_programs: dict[tuple[Any, ...], Program] = {}


def _program(*key: Any) -> Program:
    """The launch of this form, made now or kept from before."""
    kept = _programs.pop(key, None)
    if kept is None and len(_programs) >= MOST_PROGRAMS:
        _programs.pop(next(iter(_programs))).close()
    _programs[key] = kept or _made(*key)
    return _programs[key]


def _made(entry: str, dtype: Dtype, device: int, form: tuple[int, ...]) -> Program:
    level = level_of(form[2]) if entry == "evaluate" else 0
    plan = device_kernel(entry, dtype, level).plan
    assert plan is not None
    axes = ("n", "scalars", "wanted", "model") if entry == "evaluate" else ("n", "scalars", "model")
    bound = bind(plan, dict(zip(axes, form, strict=True)))
    steps = [step for step in bound.run if isinstance(step, BoundLaunch | BoundMemset)]
    order = {buffer.name: number for number, buffer in enumerate(plan.buffers)}
    return Program(steps, order, _module(entry, dtype, level, device).entry, device=True)


@lru_cache
def _module(entry: str, dtype: Dtype, level: int, device: int) -> DeviceModule:
    import torch

    major, minor = torch.cuda.get_device_capability(device)
    made = build(device_kernel(entry, dtype, level), Target.parse(f"cuda:sm_{major}{minor}"))
    if made.status != "built" or made.artifact is None:
        raise EnvironmentFault(
            f"the option pricing kernel '{entry}' does not build for this GPU: {made.log.strip()[:200]!r}; "
            "pip install 'kernelwright[cuda]', or use .cpu()"
        )
    return DeviceModule(Path(made.artifact).read_bytes())


def _device(values: Sequence[Any]) -> Any:
    devices = {value.device for value in values if is_there(value)}
    if len(devices) > 1:
        raise UsageError(
            f"tensors on {' and '.join(sorted(map(str, devices)))} were given; bring them to one"
        )
    return devices.pop()


def _plain(value: Any, device: Any) -> Any:
    """A tensor of real numbers on the device, or a number."""
    if is_there(value):
        if value.requires_grad:
            raise UsageError("a tensor that requires a gradient was given; there is none: use .detach()")
        if value.is_complex():
            raise UsageError(f"an argument is of type {value.dtype}; give real numbers")
        return value
    single = getattr(value, "ndim", None) == 0 and hasattr(value, "item")
    number = value.item() if single else value
    if isinstance(number, float | int):
        return float(plain(float(number) if isinstance(number, float) else number))
    raise UsageError(
        f"a {type(value).__name__} was given beside tensors on {device}; give numbers, or tensors on {device}"
    )


def _dtype(values: Sequence[Any]) -> Any:
    """float32 where all tensors of floats are, else float64."""
    import torch

    floats = [v.dtype for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return torch.float32 if floats and all(each == torch.float32 for each in floats) else torch.float64


def _name(dtype: Any) -> Dtype:
    return "float32" if str(dtype).endswith("32") else "float64"


def _shape(values: Sequence[Any]) -> tuple[int, ...]:
    import torch

    shapes = [tuple(value.shape) for value in values if isinstance(value, torch.Tensor)]
    try:
        return tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]
    except RuntimeError:
        raise UsageError(
            f"shapes {' and '.join(map(str, dict.fromkeys(shapes)))} do not broadcast; "
            "give tensors of one length, or numbers"
        ) from None


def _ready(value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A contiguous tensor of this type and shape; a number as its bits."""
    if isinstance(value, float):
        return int(unpack("<Q", pack("<d", value))[0])
    return value.to(dtype).expand(shape).contiguous()
