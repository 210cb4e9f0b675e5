"""MPI datatypes, packed and unpacked faster than by the MPI libraries where their engines fall short.

    from kernelwright.workloads import datatypes

    packer = datatypes.compile(mpi_type)         an mpi4py datatype, committed
    packed = packer.pack(array, count)           the bytes that MPI_Pack gives
    packer.unpack(packed, array, count)
    print(packer.canonical)

README.md has the first example, `packer` the conventions, `docs/design/datatypes.md` how it works.
"""

from kernelwright.workloads.datatypes.canonical import Canonical
from kernelwright.workloads.datatypes.packer import Packer, compile

__all__ = ["Canonical", "Packer", "compile"]
