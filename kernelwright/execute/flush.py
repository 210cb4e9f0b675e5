"""Flush caches by reading: writing would leave dirty lines for the next call to pay for."""

from __future__ import annotations

from pathlib import Path

import torch

SMALLEST_BYTES = 64 << 20
LARGEST_BYTES = 256 << 20


class Flusher:
    """A buffer larger than the last-level cache, and a read of all of it."""

    def __init__(self, device: str, cache_bytes: int | None = None) -> None:
        """`device` is `cpu` or `cuda`; `cache_bytes` its last-level cache, found out if not given."""
        self.device = device
        self.nbytes = flush_bytes(cache_bytes if cache_bytes is not None else last_level_bytes(device))
        self._buffer = torch.ones(self.nbytes // 4, device=device)

    def flush(self) -> None:
        """Read the buffer; on a device the read is enqueued on the current stream."""
        self._buffer.sum()


def flush_bytes(cache_bytes: int) -> int:
    """Twice the cache, within bounds that keep a flush short."""
    return min(max(2 * cache_bytes, SMALLEST_BYTES), LARGEST_BYTES)


def last_level_bytes(device: str) -> int:
    """Size of the largest cache, or 0 where the system does not say."""
    if device == "cuda":
        return int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    sizes = [_parse(path.read_text()) for path in folder.glob("index*/size")]
    return max(sizes, default=0)


def _parse(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    text = text.strip()
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text or 0)
