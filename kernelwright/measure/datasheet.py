"""Memory bandwidth of known GPUs as their makers state it.

Only used to call a time impossible, so a figure here must never be below what the device can do:
where a name has variants, the fastest stands. A GPU that is not listed has no datasheet floor.
"""

from __future__ import annotations

MEMORY_GBS: tuple[tuple[str, float], ...] = (
    ("GB300", 8000.0),
    ("B300", 8000.0),
    ("GB200", 8000.0),
    ("B200", 8000.0),
    ("GH200", 4900.0),
    ("H200", 4800.0),
    ("H100 NVL", 3938.0),
    ("H100 PCIe", 2039.0),
    ("H100", 3352.0),
    ("H20", 4000.0),
    ("A100", 2039.0),
    ("H800", 3352.0),
    ("A800", 2039.0),
    ("A40", 696.0),
    ("A30", 933.0),
    ("A10G", 600.0),
    ("A10", 600.0),
    ("L40S", 864.0),
    ("L40", 864.0),
    ("L4", 300.0),
    ("V100", 1134.0),
    ("T4", 320.0),
    ("RTX 5090", 1792.0),
    ("RTX 4090", 1008.0),
    ("RTX 3090 Ti", 1008.0),
    ("RTX 3090", 936.0),
    ("RTX 6000 Ada", 960.0),
    ("RTX A6000", 768.0),
)
"""Part of the device's name, and GB/s (10^9 bytes). The first entry that matches is used."""


def datasheet_gbs(device: str) -> float | None:
    """Memory bandwidth in GB/s of the device with this name, or None where it is not known.

    A name matches as whole words: `NVIDIA H200` is H200 and `NVIDIA H20` is not.
    """
    words = f" {device.replace('-', ' ')} ".casefold()
    return next((gbs for name, gbs in MEMORY_GBS if f" {name.casefold()} " in words), None)
