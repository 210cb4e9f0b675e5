"""Where a result on a device lies, as the process that computed it says."""

from __future__ import annotations

from typing import Any

Place = list[Any]
"""Handle of an allocation in hexadecimal (empty where there is none), bytes from its begin, and bytes."""
HANDLE_BYTES = 64
"""Of a handle that names an allocation to other processes (CUDA driver API)."""
