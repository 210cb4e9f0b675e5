"""What a device launch may ask for, on compute capability 9.0.

Source: CUDA C++ Programming Guide, "Technical specifications per compute capability".
"""

from __future__ import annotations

from math import prod

from kernelwright.execute.bound import BoundLaunch
from kernelwright.execute.reports import PlanRefused

MAX_BLOCK_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 227 * 1024
"""Shared memory that one block can have: 227 KB."""
MAX_CLUSTER = 16
"""Blocks of a cluster; above 8 the size is not portable, but this device takes it."""
MAX_PARAMETER_BYTES = 4096


def check_launch(where: str, launch: BoundLaunch) -> None:
    """PlanRefused, one line, if the device cannot take this launch."""
    _within(where, "block", launch.block, MAX_BLOCK, 1)
    if prod(launch.block) > MAX_BLOCK_THREADS:
        raise PlanRefused(
            f"{where} has {prod(launch.block)} threads a block; at most {MAX_BLOCK_THREADS} are allowed"
        )
    _within(where, "grid", launch.grid, MAX_GRID, 0)
    if not 0 <= launch.shared_bytes <= MAX_SHARED_BYTES:
        raise PlanRefused(
            f"{where} asks for {launch.shared_bytes} shared bytes; allowed are 0 to {MAX_SHARED_BYTES}"
        )
    if 8 * len(launch.args) > MAX_PARAMETER_BYTES:
        raise PlanRefused(
            f"{where} has {len(launch.args)} arguments; at most {MAX_PARAMETER_BYTES // 8} are allowed"
        )
    _check_cluster(where, launch)


def _check_cluster(where: str, launch: BoundLaunch) -> None:
    if min(launch.cluster) < 1 or prod(launch.cluster) > MAX_CLUSTER:
        raise PlanRefused(
            f"{where} has cluster {list(launch.cluster)}; allowed are 1 to {MAX_CLUSTER} blocks"
        )
    if any(grid % cluster for grid, cluster in zip(launch.grid, launch.cluster, strict=True)):
        raise PlanRefused(
            f"{where} has grid {list(launch.grid)}, which clusters of {list(launch.cluster)} do not divide"
        )


def _within(
    where: str, what: str, values: tuple[int, int, int], most: tuple[int, int, int], least: int
) -> None:
    if any(not least <= value <= limit for value, limit in zip(values, most, strict=True)):
        raise PlanRefused(f"{where} has {what} {list(values)}; allowed are {least} to {list(most)}")
