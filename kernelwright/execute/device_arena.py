"""Device memory that two workers map: how outputs on a GPU reach the process that compares them.

    reference: own(state, nbytes) -> handle            candidate: join(state, handle)
    candidate: write(state, tensors)                   reference: views(state, layout) -> tensors

The reference's process owns it and the candidate's context maps it, for as long as both live. It only
ever holds what the candidate itself has computed, and is overwritten before a next kernel runs; what is
expected stays in the reference's own context, which no candidate can address. Uses the driver's
inter-process handles, which both processes must be able to open: same machine, same device.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from kernelwright.core.errors import EnvironmentFault
from kernelwright.execute.arena import offsets

_LAZY_PEER_ACCESS = 1
_HANDLE_BYTES = 64


class _Handle(c.Structure):
    _fields_ = (("reserved", c.c_char * _HANDLE_BYTES),)


class _Mapped:
    """What torch needs to see foreign memory as a tensor."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def own(state: dict[str, Any], *, nbytes: int) -> dict[str, str]:
    """In the reference's process: make room for `nbytes`, in place of what there was."""
    disown(state)
    driver, address, handle = _driver(), c.c_uint64(), _Handle()
    if nbytes == 0:
        return {"handle": ""}
    _check(driver.cuMemAlloc_v2(c.byref(address), nbytes), f"{nbytes} bytes of device memory to share")
    state["device_arena"] = (address.value, _tensor(address.value, nbytes))
    _check(driver.cuIpcGetMemHandle(c.byref(handle), address), "a handle of device memory")
    return {"handle": bytes(handle).hex()}


def disown(state: dict[str, Any]) -> None:
    """Give it back."""
    kept = state.pop("device_arena", None)
    if kept is not None:
        _driver().cuMemFree_v2(kept[0])


def join(state: dict[str, Any], *, handle: str, nbytes: int) -> None:
    """In the candidate's process: map what the handle means, in place of what was mapped."""
    driver, address = _driver(), c.c_uint64()
    kept = state.pop("device_arena", None)
    if kept is not None:
        driver.cuIpcCloseMemHandle(kept[0])
    if not handle:
        return
    wanted = _Handle.from_buffer_copy(bytes.fromhex(handle))
    code = driver.cuIpcOpenMemHandle_v2(c.byref(address), wanted, _LAZY_PEER_ACCESS)
    _check(code, "device memory of another process")
    state["device_arena"] = (address.value, _tensor(address.value, nbytes))


def write(state: dict[str, Any], tensors: Sequence[torch.Tensor]) -> None:
    """Copy tensors into it, one behind the other."""
    starts, total = offsets([tensor.nbytes for tensor in tensors])
    if total == 0:
        return
    room = state["device_arena"][1]
    for start, tensor in zip(starts, tensors, strict=True):
        flat = tensor.contiguous().view(-1)
        room[start : start + tensor.nbytes].view(tensor.dtype).copy_(flat)
    torch.cuda.synchronize()


def views(state: dict[str, Any], layout: Sequence[tuple[torch.dtype, tuple[int, ...]]]) -> list[torch.Tensor]:
    """Tensors of these types and shapes as they lie in it; valid until the next `write`."""
    sizes = [dtype.itemsize * torch.Size(shape).numel() for dtype, shape in layout]
    starts, total = offsets(sizes)
    room = state["device_arena"][1] if total else torch.empty(0, dtype=torch.uint8, device="cuda")
    return [
        room[start : start + size].view(dtype).view(shape)
        for start, size, (dtype, shape) in zip(starts, sizes, layout, strict=True)
    ]


def _tensor(address: int, nbytes: int) -> torch.Tensor:
    return torch.as_tensor(_Mapped(address, nbytes), device="cuda")


@lru_cache(maxsize=1)
def _driver() -> Any:
    torch.cuda.synchronize()  # makes torch's context, and makes it this thread's
    driver = c.CDLL("libcuda.so.1")
    driver.cuMemAlloc_v2.argtypes = (c.c_void_p, c.c_size_t)
    driver.cuMemFree_v2.argtypes = (c.c_uint64,)
    driver.cuIpcGetMemHandle.argtypes = (c.c_void_p, c.c_uint64)
    driver.cuIpcOpenMemHandle_v2.argtypes = (c.c_void_p, _Handle, c.c_uint)
    driver.cuIpcCloseMemHandle.argtypes = (c.c_uint64,)
    return driver


def _check(code: int, what: str) -> None:
    if code != 0:
        raise EnvironmentFault(
            f"the driver gives no {what} (code {code}); free device memory, and let processes of one user "
            "share it (compute mode 'default', one IPC namespace)"
        )
