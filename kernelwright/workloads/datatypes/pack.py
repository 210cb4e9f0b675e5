"""This pack as the command line sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelwright.workloads.packs import Pack


def _bench() -> Iterator[dict[str, Any]]:
    from kernelwright.workloads.datatypes.benchmark import short

    yield from short()


PACK = Pack(
    name="datatypes",
    summary="Packing and unpacking by MPI datatypes, byte for byte as MPI_Pack does.",
    public="kernelwright.workloads.datatypes",
    problems=(),
    bench=_bench,
    needs=("numpy", "mpi4py"),
)
