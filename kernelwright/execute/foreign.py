"""Worker side: results on a GPU in one process, looked at by another while a clock runs.

    candidate: places = tell(state, tensors)                       where they lie, as anybody may claim
    reference: pieces = read(state, places, at)                    bytes, or None for what cannot be read
    reference: let_go(state)

Nothing is believed of what `tell` says: whoever lies is read at another place. Mappings of the other
process's allocations are kept, because opening one takes longer than a short call.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from typing import Any

import torch

from kernelwright.execute.driver import BUFFER_ID, LAZY_PEER_ACCESS, IpcHandle, driver
from kernelwright.execute.place import HANDLE_BYTES, Place

Piece = tuple[int, int, int]
"""Number of a place, first byte, bytes."""
_MOST_BYTES = 1 << 22


def tell(state: dict[str, Any], tensors: Sequence[torch.Tensor]) -> list[Place]:
    """Where these lie; a handle is made once for each allocation."""
    known: dict[int, tuple[int, str]] = state.setdefault("told", {})
    return [_told(known, tensor) for tensor in tensors]


def _told(known: dict[int, tuple[int, str]], tensor: torch.Tensor) -> Place:
    address, number = tensor.data_ptr(), c.c_ulonglong()
    if tensor.nbytes == 0 or driver().cuPointerGetAttribute(c.byref(number), BUFFER_ID, address):
        return ["", 0, tensor.nbytes]
    if number.value not in known:
        base, size, handle = c.c_uint64(), c.c_size_t(), IpcHandle()
        driver().cuMemGetAddressRange_v2(c.byref(base), c.byref(size), address)
        refused = driver().cuIpcGetMemHandle(c.byref(handle), base.value)
        known[number.value] = base.value, "" if refused else bytes(handle).hex()
    begin, text = known[number.value]
    return [text, address - begin, tensor.nbytes]


def read(state: dict[str, Any], places: Sequence[Place], at: Sequence[Piece]) -> list[bytes | None]:
    """Bytes of these pieces, all copied before it returns."""
    stream, kept = torch.cuda.current_stream().cuda_stream, _room(state)
    found: list[tuple[int, int] | None] = []
    end = 0
    for place, first, size in at:
        source = _address(state, places, place, first, size)
        fits = source is not None and end + size <= kept.numel()
        if fits and not driver().cuMemcpyDtoHAsync_v2(kept.data_ptr() + end, source, size, stream):
            found.append((end, size))
            end += size
        else:
            found.append(None)
    torch.cuda.synchronize()
    data = kept[:end].numpy().tobytes()
    return [None if each is None else data[each[0] : each[0] + each[1]] for each in found]


def let_go(state: dict[str, Any]) -> None:
    """Close all mappings: the process that they belong to is no more, or done."""
    for address in state.pop("foreign", {}).values():
        driver().cuIpcCloseMemHandle(address)


def _address(
    state: dict[str, Any], places: Sequence[Place], number: int, first: int, size: int
) -> int | None:
    """Where a piece lies, as this process sees it; None where there is nothing."""
    if not 0 <= number < len(places):
        return None
    handle, begin, nbytes = places[number]
    known: dict[str, int] = state.setdefault("foreign", {})
    if handle not in known:
        address = _opened(handle)
        if address is None:
            return None
        known[handle] = address
    inside = begin >= 0 and first >= 0 and first + size <= nbytes
    return known[handle] + begin + first if inside else None


def _opened(handle: str) -> int | None:
    if len(handle) != 2 * HANDLE_BYTES:
        return None
    address, wanted = c.c_uint64(), IpcHandle.from_buffer_copy(bytes.fromhex(handle))
    refused = driver().cuIpcOpenMemHandle_v2(c.byref(address), wanted, LAZY_PEER_ACCESS)
    return None if refused else address.value


def _room(state: dict[str, Any]) -> torch.Tensor:
    room = state.get("pieces")
    if not isinstance(room, torch.Tensor):
        room = state["pieces"] = torch.empty(_MOST_BYTES, dtype=torch.uint8, pin_memory=True)
    return room
