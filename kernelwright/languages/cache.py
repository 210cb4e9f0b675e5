"""Builds on disk, by key. Safe with many processes, because it has no lock.

    <cache>/builds/<key>/build.json      the `Build`, and a checksum over it and the artifact
    <cache>/builds/<key>/<artifact>      absent where the build failed
    <cache>/builds/.work-<pid>-<hex>/    where one build is being made

An entry is made whole in a work folder and renamed into place, so that a process killed at any
moment leaves either no entry or a whole one. Whoever renames second finds the first one's entry
and takes it. An entry whose checksum does not hold is thrown away and built again. The least
recently used entries go when the total exceeds the bound; work folders go when their maker is
long dead. The checksum is against accidents; it does not stop someone who can write here.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from kernelwright.core.config import cache_dir
from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Build
from kernelwright.core.wire import canonical_json

SIZE_BOUND = 2 << 30
"""Bytes that all entries together may take."""
IN_USE_S = 600.0
"""An entry used this recently is never evicted: somebody may be about to load it."""
ABANDONED_S = 3600.0
"""A work folder this old has no living maker: every compiler's time limit is far shorter."""
SWEEP_EVERY = 64
"""Stores of one process between two looks at the total size."""

_WORK = ".work-"
_stores = count()


def builds_dir() -> Path:
    """Where the entries are."""
    return cache_dir() / "builds"


def load(key: str) -> Build | None:
    """The build under `key`, marked as cached; None if there is none or it is damaged."""
    entry = builds_dir() / key
    try:
        text = (entry / "build.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        if entry.exists():
            _discard(entry)
        return None
    except OSError as error:
        raise _fault("read", error) from error
    build = _checked(entry, text)
    if build is None:
        _discard(entry)
        return None
    with suppress(OSError):
        os.utime(entry / "build.json")
    return build.model_copy(update={"cached": True, "seconds": 0.0})


@contextmanager
def workspace() -> Iterator[Path]:
    """An empty folder on the cache's own file system, gone afterwards."""
    folder = builds_dir() / f"{_WORK}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise _fault("write", error) from error
    try:
        yield folder
    except OSError as error:
        raise _fault("write", error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def store(key: str, build: Build, artifact: Path | None) -> Build:
    """Keep `build` with a copy of `artifact` under `key`; returns it with the artifact's new path."""
    try:
        with workspace() as staging:
            _fill(staging, build, artifact)
            kept = _publish(staging, key)
        if next(_stores) % SWEEP_EVERY == 0:
            sweep()
    except OSError as error:
        raise _fault("write", error) from error
    return kept.model_copy(update={"seconds": build.seconds, "cached": False})


def sweep(bound: int = SIZE_BOUND) -> int:
    """Evict least recently used entries until `bound` bytes hold, and abandoned work folders.

    Returns the number of bytes that stay.
    """
    now = time.time()
    found: list[tuple[float, int, Path]] = []
    for path in builds_dir().iterdir():
        used, size = _footprint(path)
        if path.name.startswith(_WORK):
            if now - used > ABANDONED_S:
                shutil.rmtree(path, ignore_errors=True)
        else:
            found.append((used, size, path))
    total = sum(size for _, size, _ in found)
    for used, size, path in sorted(found):
        if total <= bound or now - used < IN_USE_S:
            break
        _discard(path)
        total -= size
    return total


def _fill(staging: Path, build: Build, artifact: Path | None) -> None:
    name = artifact.name if artifact else None
    data = artifact.read_bytes() if artifact else b""
    if name:
        (staging / name).write_bytes(data)
    kept = build.model_copy(update={"artifact": name, "cached": False})
    record = {"build": kept.model_dump(mode="json"), "sha256": _checksum(kept, data)}
    (staging / "build.json").write_text(json.dumps(record), encoding="utf-8")


def _publish(staging: Path, key: str) -> Build:
    entry = builds_dir() / key
    for _ in range(8):
        with suppress(OSError):
            staging.rename(entry)
        kept = load(key)
        if kept is not None:
            return kept
    raise OSError(f"an entry at {entry} cannot be replaced")


def _checked(entry: Path, text: bytes) -> Build | None:
    try:
        record = json.loads(text)
        build = Build.model_validate(record["build"])
        data = (entry / build.artifact).read_bytes() if build.artifact else b""
        if record["sha256"] != _checksum(build, data):
            return None
    except (ValueError, KeyError, TypeError, ValidationError, OSError):
        return None
    return build.model_copy(update={"artifact": str(entry / build.artifact)}) if build.artifact else build


def _checksum(build: Build, data: bytes) -> str:
    return hashlib.sha256(canonical_json(build).encode() + b"\0" + data).hexdigest()


def _discard(entry: Path) -> None:
    grave = entry.with_name(f"{_WORK}{os.getpid()}-{uuid.uuid4().hex[:8]}")
    try:
        entry.rename(grave)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _fault("clear a damaged entry of", error) from error
    if grave.is_dir():
        shutil.rmtree(grave, ignore_errors=True)
    else:
        grave.unlink(missing_ok=True)


def _footprint(entry: Path) -> tuple[float, int]:
    """When an entry was last used, and its bytes; an entry that just went counts nothing."""
    used, size = 0.0, 0
    with suppress(OSError):
        used = entry.stat().st_mtime
        for file in entry.iterdir():
            status = file.stat()
            used, size = max(used, status.st_mtime), size + status.st_size
    return used, size


def _fault(verb: str, error: OSError) -> EnvironmentFault:
    reason = error.strerror or str(error)
    return EnvironmentFault(
        f"cannot {verb} the build cache {builds_dir()}: {reason}; free space there or set KERNELWRIGHT_CACHE"
    )
