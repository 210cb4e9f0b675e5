"""What NVML says of a GPU: its identity once, its clock and temperature in each sample.

NVML makes no CUDA context, so the judge may ask without disturbing the worker. Where
`nvidia-ml-py` is not importable, `nvidia-smi` is asked once for the identity and the in-sample
clock is not recorded. Device 0 of those visible; not covered: MIG slices.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from importlib import import_module
from typing import Any

from kernelwright.core.errors import first_line

_SMI_FIELDS = {"name": "name", "uuid": "uuid", "driver": "driver_version", "max_sm_mhz": "clocks.max.sm"}


@lru_cache(maxsize=1)
def gpu_facts() -> dict[str, Any]:
    """Name, uuid, driver, highest SM clock and power limit; empty where no GPU is seen."""
    nvml, handle = _device()
    if nvml is None:
        return _facts_from_smi()
    facts: dict[str, Any] = {
        "name": _text(nvml.nvmlDeviceGetName(handle)),
        "uuid": _text(nvml.nvmlDeviceGetUUID(handle)),
        "driver": _text(nvml.nvmlSystemGetDriverVersion()),
    }
    try:
        facts["max_sm_mhz"] = nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)
        facts["power_limit_w"] = nvml.nvmlDeviceGetEnforcedPowerLimit(handle) // 1000
    except nvml.NVMLError as error:
        facts["unknown"] = first_line(error)
    return facts


def gpu_state() -> dict[str, int]:
    """SM clock (MHz), memory clock (MHz) and temperature (Celsius) now; empty without NVML."""
    nvml, handle = _device()
    if nvml is None:
        return {}
    try:
        return {
            "sm_mhz": int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            "memory_mhz": int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            "celsius": int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
        }
    except nvml.NVMLError:
        return {}


@lru_cache(maxsize=1)
def _device() -> tuple[Any, Any]:
    try:
        nvml: Any = import_module("pynvml")
    except ImportError:
        return None, None
    try:
        nvml.nvmlInit()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
        if visible.startswith("GPU-"):
            return nvml, nvml.nvmlDeviceGetHandleByUUID(visible)
        return nvml, nvml.nvmlDeviceGetHandleByIndex(int(visible) if visible.isdigit() else 0)
    except nvml.NVMLError:
        return None, None


def _facts_from_smi() -> dict[str, Any]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {}
    command = [
        tool,
        "--id=0",
        f"--query-gpu={','.join(_SMI_FIELDS.values())}",
        "--format=csv,noheader,nounits",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return {"unknown": first_line(error)}
    return dict(zip(_SMI_FIELDS, (value.strip() for value in done.stdout.strip().split(",")), strict=False))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
