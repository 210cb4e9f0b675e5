"""`ResultLayout`: what a kernel's results look like at one workload."""

from __future__ import annotations

import torch

ResultLayout = list[tuple[str, torch.dtype, tuple[int, ...]]]
"""Name, element type and shape of each result, outputs first."""
