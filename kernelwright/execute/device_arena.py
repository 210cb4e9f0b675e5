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
from typing import Any

import torch

from kernelwright.execute.arena import offsets
from kernelwright.execute.driver import LAZY_PEER_ACCESS, IpcHandle, check, driver, tensor_at


def own(state: dict[str, Any], *, nbytes: int) -> dict[str, str]:
    """In the reference's process: make room for `nbytes`, in place of what there was."""
    disown(state)
    address, handle = c.c_uint64(), IpcHandle()
    if nbytes == 0:
        return {"handle": ""}
    check(driver().cuMemAlloc_v2(c.byref(address), nbytes), f"{nbytes} bytes of device memory to share")
    state["device_arena"] = (address.value, tensor_at(address.value, nbytes))
    check(driver().cuIpcGetMemHandle(c.byref(handle), address), "a handle of device memory")
    return {"handle": bytes(handle).hex()}


def disown(state: dict[str, Any]) -> None:
    """Give it back."""
    kept = state.pop("device_arena", None)
    if kept is not None:
        driver().cuMemFree_v2(kept[0])


def join(state: dict[str, Any], *, handle: str, nbytes: int) -> None:
    """In the candidate's process: map what the handle means, in place of what was mapped."""
    address = c.c_uint64()
    kept = state.pop("device_arena", None)
    if kept is not None:
        driver().cuIpcCloseMemHandle(kept[0])
    if not handle:
        return
    wanted = IpcHandle.from_buffer_copy(bytes.fromhex(handle))
    code = driver().cuIpcOpenMemHandle_v2(c.byref(address), wanted, LAZY_PEER_ACCESS)
    check(code, "device memory of another process")
    state["device_arena"] = (address.value, tensor_at(address.value, nbytes))


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
