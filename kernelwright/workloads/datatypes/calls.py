"""MPI's own MPI_Pack and MPI_Unpack by address and count, without mpi4py's reading of buffers between.

mpi4py packs as many elements as a buffer holds by its extent, which a test of odd types cannot use. Handles
are passed as integers: an int in MPICH, a pointer in Open MPI.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

from mpi4py import MPI

from kernelwright.core.errors import InternalFault

_library = c.CDLL(MPI.__file__)  # looks in what it was linked with, too


def address(name: str) -> int:
    """Where MPI's function lies."""
    found = c.cast(getattr(_library, name), c.c_void_p).value
    if found is None:
        raise InternalFault(f"{name} has no address")
    return found


# memory, count, datatype, packed, room, position, comm
_pack = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int, c.c_void_p, c.c_void_p, c.c_int, c.c_void_p, c.c_void_p)(
    address("MPI_Pack")
)
# packed, room, position, memory, count, datatype, comm
_unpack = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int, c.c_void_p, c.c_void_p, c.c_int, c.c_void_p, c.c_void_p)(
    address("MPI_Unpack")
)


def pack(memory: int, count: int, mpi_type: Any, room: int) -> bytes:
    """What MPI_Pack makes of `count` elements whose first has its 0 at address `memory`."""
    out, position = (c.c_char * max(room, 1))(), c.c_int(0)
    comm = MPI.COMM_SELF.handle
    code = _pack(memory, count, mpi_type.handle, out, room, c.byref(position), comm)
    if code:
        raise InternalFault(f"MPI_Pack gave {MPI.Get_error_string(code)}")
    return out.raw[: position.value]


def unpack(packed: bytes, memory: int, count: int, mpi_type: Any) -> None:
    """MPI_Unpack into `count` elements whose first has its 0 at address `memory`."""
    position = c.c_int(0)
    comm = MPI.COMM_SELF.handle
    code = _unpack(packed, len(packed), c.byref(position), memory, count, mpi_type.handle, comm)
    if code:
        raise InternalFault(f"MPI_Unpack gave {MPI.Get_error_string(code)}")
