"""What stands in every record about the machine: processor, load, memory policy, GPU, versions.

Read from /proc and /sys, and for a GPU from NVML (`gpu.py`). A fact that a machine does not tell is
left out, never guessed. Not covered: what else runs meanwhile (`disturbance.py`).
"""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernelwright.core.target import Target, TargetName
from kernelwright.measure.gpu import gpu_facts, gpu_state


def environment(target: Target) -> dict[str, Any]:
    """Facts for `Measurement.environment`; cheap enough to be taken with every one."""
    facts: dict[str, Any] = {
        **machine(),
        **memory_policy(),
        "load": list(os.getloadavg()),
        "versions": versions(),
    }
    facts["threads"] = target.threads or allowed_cores()
    if target.name == "cuda":
        facts["gpu"] = {**gpu_facts(), **gpu_state()}
    return facts


@lru_cache(maxsize=1)
def machine() -> dict[str, Any]:
    """What does not change while a process lives: processor, cores, memory, kernel."""
    return {
        "cpu": cpu_model(),
        "cores": allowed_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "llc_bytes": cpu_llc_bytes(),
        "system": f"{platform.system()} {platform.release()}",
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }


def memory_policy() -> dict[str, Any]:
    """Transparent huge pages: with and without them the same kernel differs by tens of percent."""
    setting = _text("/sys/kernel/mm/transparent_hugepage/enabled") or ""
    chosen = [word.strip("[]") for word in setting.split() if word.startswith("[")]
    return {"huge_pages": chosen[0] if chosen else None}


def allowed_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """The processor's name."""
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cpu_llc_bytes() -> int | None:
    """Size of the last-level cache of core 0, in bytes."""
    found = [
        _size(_text(str(path)) or "")
        for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    ]
    return max(found, default=None)


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of what generates or runs code, where installed; nothing is imported."""
    names = ("kernelwright", "torch", "triton", "numpy", "cuda-bindings")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def identity(target: TargetName) -> dict[str, Any]:
    """What a machine's ceilings depend on: the same values mean the same ceilings."""
    if target == "cuda":
        return {key: gpu_facts().get(key) for key in ("name", "uuid", "driver")}
    return {key: machine()[key] for key in ("cpu", "cores", "memory_bytes")}


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _size(text: str) -> int:
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    digits = text.rstrip("KMG")
    return int(digits) * units.get(text[-1:], 1) if digits.isdigit() else 0
