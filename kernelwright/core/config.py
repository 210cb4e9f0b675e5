"""Where things are kept, and the few switches that come from the environment.

KERNELWRIGHT_DB     any SQLAlchemy URL          default: SQLite in the data directory
KERNELWRIGHT_DATA   data directory              default: the platform's
KERNELWRIGHT_CACHE  build cache, ceilings       default: the platform's
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kernelwright.core.errors import EnvironmentFault


def data_dir() -> Path:
    """Directory of the trial store; made on first use by whoever writes there."""
    return _directory("KERNELWRIGHT_DATA", "XDG_DATA_HOME", ".local/share", "Library/Application Support")


def cache_dir() -> Path:
    """Directory of what can be made again: builds, launcher, measured ceilings."""
    return _directory("KERNELWRIGHT_CACHE", "XDG_CACHE_HOME", ".cache", "Library/Caches")


def database_url() -> str:
    """SQLAlchemy URL of the trial store."""
    return os.environ.get("KERNELWRIGHT_DB") or f"sqlite:///{data_dir() / 'trials.db'}"


def _directory(own: str, xdg: str, linux: str, mac: str) -> Path:
    given, base = os.environ.get(own), os.environ.get(xdg)
    try:
        if given:
            return Path(given).expanduser()
        if sys.platform == "darwin":
            return Path.home() / mac / "kernelwright"
        return (Path(base) if base else Path.home() / linux) / "kernelwright"
    except RuntimeError as error:
        raise EnvironmentFault(
            f"no home directory for {given or 'this user'}; set {own} to a folder"
        ) from error
