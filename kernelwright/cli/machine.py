"""The facts that `doctor` prints. Nothing here fails: what is missing is said with its reason."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import kernelwright
from kernelwright.core.config import cache_dir, data_dir, database_url
from kernelwright.core.target import Target

PACKAGES = ("torch", "triton", "numpy", "pydantic", "sqlalchemy", "cuda-bindings", "nvidia-cuda-nvrtc")


def machine_document() -> dict[str, Any]:
    """What `doctor --json` prints."""
    from kernelwright.sandbox.confine import enforced

    return {
        "version": kernelwright.__version__,
        "python": platform.python_version(),
        "targets": {"cpu": _cpu(), "cuda": _cuda()},
        "languages": _languages(),
        "tools": {"nvdisasm": _disassembler()},
        "sandbox": enforced(),
        "packages": {name: _installed(name) for name in PACKAGES},
        "store": {"url": _redacted(database_url()), "free_bytes": _free_bytes(data_dir())},
        "cache": {"path": str(cache_dir()), "free_bytes": _free_bytes(cache_dir())},
    }


def _cpu() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = round(os.getloadavg()[0], 2)
    return {"available": True, "reason": None, "device": _cpu_model(), "cores": cores, "load": load}


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    return model or platform.processor() or platform.machine()


def _cuda() -> dict[str, Any]:
    if _installed("torch") is None:
        return {"available": False, "reason": "torch is not installed", "device": None}
    import torch

    if not torch.cuda.is_available():
        reason = (
            "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no CUDA device"
        )
        return {"available": False, "reason": reason, "device": None}
    return {"available": True, "reason": None, "device": torch.cuda.get_device_name(0)}


def _languages() -> dict[str, Any]:
    from kernelwright.languages import LANGUAGES

    target_of = {"cpp": "cpu", "python": "cpu", "cuda": "cuda", "triton": "cuda"}
    found = {}
    for name in LANGUAGES.names():
        language, target = LANGUAGES.get(name)(), Target.parse(target_of.get(name, "cpu"))
        reason = language.unavailable(target)
        tool = language.tool(target) if reason is None else None
        found[name] = {"available": reason is None, "reason": reason, "tool": tool}
    return found


def _disassembler() -> dict[str, Any]:
    """What reads the machine code of CUDA kernels; without it a verdict leaves their types open."""
    from kernelwright.sass.read import INSTALL, disassemblers, version_of

    found = disassemblers()
    if not found:
        return {"available": False, "reason": f"none on this machine; {INSTALL}", "tool": None}
    return {"available": True, "reason": None, "tool": version_of(found[0])}


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _free_bytes(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def _redacted(url: str) -> str:
    """A database URL without its password."""
    head, sign, tail = url.partition("://")
    user, at, host = tail.rpartition("@")
    return f"{head}{sign}{user.split(':')[0]}:***@{host}" if at and ":" in user else url
