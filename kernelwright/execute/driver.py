"""The CUDA driver's calls for memory that processes share, by ctypes; torch has no name for them.

    driver().cuMemCreate(...); check(code, "device memory to share")

Source: CUDA driver API, "Memory Management" and "Virtual Memory Management". Not covered: everything else,
which is torch's or `cuda.bindings`'s.
"""

from __future__ import annotations

import ctypes as c
from functools import lru_cache
from typing import Any

import torch

from kernelwright.core.errors import EnvironmentFault
from kernelwright.execute.place import HANDLE_BYTES

LAZY_PEER_ACCESS = 1
PINNED, FILE_DESCRIPTOR, ON_DEVICE = 1, 1, 1
READ, READ_WRITE = 1, 3
BUFFER_ID = 7
"""Pointer attribute: a number that no other allocation of the process ever has."""


class IpcHandle(c.Structure):
    """What names an allocation to other processes of the machine."""

    _fields_ = (("reserved", c.c_char * HANDLE_BYTES),)


class Location(c.Structure):
    """Where memory lies: the kind of place, and its number."""

    _fields_ = (("kind", c.c_int), ("number", c.c_int))


class Properties(c.Structure):
    """What memory is asked for."""

    _fields_ = (
        ("kind", c.c_int),
        ("handles", c.c_int),
        ("location", Location),
        ("meta", c.c_void_p),
        ("flags", c.c_ubyte * 8),
    )


class Access(c.Structure):
    """Who may do what with mapped memory."""

    _fields_ = (("location", Location), ("flags", c.c_int))


class _Mapped:
    """What torch needs to see foreign memory as a tensor."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def tensor_at(address: int, nbytes: int) -> torch.Tensor:
    """Bytes of device memory that torch does not own."""
    return torch.as_tensor(_Mapped(address, nbytes), device="cuda")


@lru_cache(maxsize=1)
def driver() -> Any:
    """The driver's library, with torch's context current in this thread."""
    torch.cuda.synchronize()  # makes torch's context, and makes it this thread's
    library = c.CDLL("libcuda.so.1")
    size, number, flags = c.c_size_t, c.c_uint64, c.c_ulonglong
    for name, types in {
        "cuMemAlloc_v2": (c.c_void_p, size),
        "cuMemFree_v2": (number,),
        "cuIpcGetMemHandle": (c.c_void_p, number),
        "cuIpcOpenMemHandle_v2": (c.c_void_p, IpcHandle, c.c_uint),
        "cuIpcCloseMemHandle": (number,),
        "cuMemGetAddressRange_v2": (c.c_void_p, c.c_void_p, number),
        "cuPointerGetAttribute": (c.c_void_p, c.c_int, number),
        "cuMemcpyDtoHAsync_v2": (c.c_void_p, number, size, c.c_void_p),
        "cuMemGetAllocationGranularity": (c.c_void_p, c.c_void_p, c.c_int),
        "cuMemCreate": (c.c_void_p, size, c.c_void_p, flags),
        "cuMemExportToShareableHandle": (c.c_void_p, number, c.c_int, flags),
        "cuMemImportFromShareableHandle": (c.c_void_p, c.c_void_p, c.c_int),
        "cuMemAddressReserve": (c.c_void_p, size, size, number, flags),
        "cuMemMap": (number, size, size, number, flags),
        "cuMemSetAccess": (number, size, c.c_void_p, size),
        "cuMemUnmap": (number, size),
        "cuMemRelease": (number,),
        "cuMemAddressFree": (number, size),
    }.items():
        getattr(library, name).argtypes = types
    return library


def check(code: int, what: str) -> None:
    """EnvironmentFault if the driver refused `what`."""
    if code != 0:
        raise EnvironmentFault(
            f"the driver gives no {what} (code {code}); free device memory, and let processes of one user "
            "share it (compute mode 'default', one IPC namespace)"
        )
