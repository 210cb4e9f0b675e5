"""What this machine can do: bandwidths of memory and rates of products, measured and kept.

    ceilings("cpu").copy_gbs

Measured in a fresh worker with the environment that kernels are timed in, and kept in the cache
directory under the machine's identity. A ceiling is the *best* of several repetitions: noise only
ever lowers it, and what was reached once can be reached. Copy counts bytes read plus written.
Not covered: ceilings of several GPUs together, of double precision, of integer products.
"""

from __future__ import annotations

import json
import os
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from kernelwright.core.config import cache_dir
from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.target import Target, TargetName
from kernelwright.core.wire import Wire, content_hash
from kernelwright.measure.environment import identity
from kernelwright.sandbox import Worker

CEILINGS_VERSION = 1
"""Raised when the way of measuring changes: older files are then measured again."""
MAX_AGE_DAYS = 30.0


class Ceilings(Wire):
    """Rates that no kernel on this machine is expected to exceed for long."""

    version: int = CEILINGS_VERSION
    target: TargetName
    device: str
    """The processor's or the GPU's name."""
    identity: dict[str, Any]
    threads: int = 0
    read_gbs: float
    write_gbs: float
    copy_gbs: float
    """Bytes read plus bytes written, in GB/s (10^9 bytes)."""
    cached_gbs: float | None = None
    """Copy of buffers that fit in the last-level cache together."""
    fp32_tflops: float
    """Product in full single precision."""
    tf32_tflops: float | None = None
    half_tflops: float | None = None
    """bfloat16 product with fp32 accumulation."""
    llc_bytes: int
    measured_at: str
    """ISO date and time, UTC."""
    notes: dict[str, Any] = Field(default_factory=dict)
    """Rates with ordinary and with non-temporal stores, sizes used."""

    @property
    def age_days(self) -> float:
        """Days since these were measured."""
        elapsed = datetime.now(timezone.utc) - datetime.fromisoformat(self.measured_at)
        return elapsed / timedelta(days=1)


def ceilings(
    target: Target, *, renew: bool = False, max_age_days: float = MAX_AGE_DAYS, worker: Worker | None = None
) -> Ceilings:
    """This machine's ceilings: the kept ones if they are young enough, else measured now (seconds).

    `worker` is an idle process of ours in which a GPU's may be measured, to save the start of another.
    EnvironmentFault where they cannot be measured: no compiler, no GPU.
    """
    path = _path(target)
    kept = None if renew else _read(path)
    if kept is not None and kept.age_days <= max_age_days:
        return kept
    from kernelwright.measure.ceiling_runs import measure

    measured = measure(target, worker)
    _write(path, measured)
    return measured


def raised(target: Target) -> Ceilings:
    """Measured once more, and each rate the better of both: what was reached once can be reached.

    For doubt: the kept ones may be from a time at which the machine had other work.
    """
    before = ceilings(target)
    after = ceilings(target, renew=True).model_dump()
    rates = [name for name in after if name.endswith(("_gbs", "_tflops"))]
    best = {name: max(after[name] or 0, getattr(before, name) or 0) or None for name in rates}
    found = Ceilings.model_validate({**after, **best})
    _write(_path(target), found)
    return found


def _path(target: Target) -> Path:
    key = content_hash([CEILINGS_VERSION, target.name, target.threads, identity(target.name)])
    return cache_dir() / "ceilings" / f"{target.name}-{key[:16]}.json"


def _read(path: Path) -> Ceilings | None:
    try:
        return Ceilings.model_validate_json(path.read_text())
    except (OSError, ValidationError):
        return None


def _write(path: Path, measured: Ceilings) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as file:
            file.write(json.dumps(measured.model_dump(mode="json"), indent=1))
        os.replace(file.name, path)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot keep the measured ceilings in {path.parent}: {error.strerror}; "
            "free space there or set KERNELWRIGHT_CACHE"
        ) from error
