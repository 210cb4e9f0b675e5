"""A worker's environment variables. Contained workers see only what running code needs: no secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kernelwright.core.config import cache_dir
from kernelwright.sandbox.limits import Limits

_NAMES = frozenset({
    "CC", "CXX", "GLIBC_TUNABLES", "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH",
    "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV",
})  # fmt: skip
_PREFIXES = (
    "ATEN_", "CUDA_", "CUDNN_", "GOMP_", "KMP_", "LC_", "MALLOC_", "MKL_", "NVIDIA_", "OMP_", "OPENBLAS_",
    "PYTHON", "TORCH", "TRITON_",
)  # fmt: skip
_CACHES = frozenset({"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"})
"""Folders of the parent's, which a contained worker may not write. torch sets the first one by itself."""


def environment_for(limits: Limits, extra: Mapping[str, str]) -> dict[str, str]:
    """The parent's variables (for a contained worker: those on the list), with `extra` over them."""
    ours = os.environ
    if not limits.contained:
        return {**ours, **extra}
    listed = {name for name in ours if name in _NAMES or name.startswith(_PREFIXES)}
    needed = {name: ours[name] for name in listed - _CACHES}
    # Named outright, because a contained worker's HOME becomes its scratch directory.
    return {**needed, "KERNELWRIGHT_CACHE": str(cache_dir()), **extra}
