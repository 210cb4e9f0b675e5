"""Environment of the workers that are timed: the same for a kernel and for its baselines.

Memory is recycled. With glibc's defaults every tensor of this size is mapped anew and its pages
are faulted in while the clock runs, on both sides but not equally often; the settings keep freed
memory in the heap (huge pages where the system has them), so first touches fall into the warm-up.

Idle OpenMP threads sleep (`PASSIVE`). By default they spin for milliseconds after a parallel
region, on cores that the other worker's call is then timed on. `docs/design/plan.md` has figures.
"""

from __future__ import annotations

import os
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from kernelwright.core.config import cache_dir

COMPILERS = 4
"""Processes that compile for one worker on a GPU."""


def timed_environment(threads: int) -> dict[str, str]:
    """Variables for a worker with this many threads."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_DYNAMIC": "FALSE",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": "100000000000",
        "MALLOC_TOP_PAD_": "67108864",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


def device_environment() -> dict[str, str]:
    """Variables for a worker that times on a GPU.

    torch's compiler starts a process for each core by default, and several such workers may be
    compiling at once.
    """
    return {"TORCHINDUCTOR_COMPILE_THREADS": str(COMPILERS)}


def compiler_environment() -> dict[str, str]:
    """Variables for a worker that compiles baselines: what one has compiled, others find on disk, also later.

    By default torch keeps it in the system's temporary directory.
    """
    place = "TORCHINDUCTOR_CACHE_DIR"
    return {place: os.environ.get(place) or str(cache_dir() / "inductor")}


def bytecode_environment() -> dict[str, str]:
    """Variables for any worker: where Python keeps bytecode, if torch has none beside its sources.

    Some images are made without, in folders that nobody may write to. Then each process compiles the
    sources of torch anew, which takes longer than all else that a start does.
    """
    found = find_spec("torch")
    if found is None or found.origin is None or Path(cache_from_source(found.origin)).exists():
        return {}
    return {"PYTHONPYCACHEPREFIX": str(cache_dir() / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
