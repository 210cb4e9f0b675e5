"""A ledger: JSON lines that a benchmark appends to and resumes from.

A record's `key` says what it is a record of (problem hash, column, versions, budget); a run skips
keys that the ledger holds. Each record carries the command and the machine that made it, and the versions
of contract and method in force.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from kernelwright.core.measurement import METHOD_VERSION
from kernelwright.core.problem import CONTRACT_VERSION
from kernelwright.core.wire import content_hash

RESULTS = Path(__file__).parents[1] / "results"


class Ledger:
    """One file of records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys = {record["key"] for record in self.records()}

    def records(self) -> list[dict[str, Any]]:
        """All whole records; a torn last line (the writer was killed) is left out."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")
        return [json.loads(line) for line in lines[:-1] if line]

    def holds(self, key: str) -> bool:
        """Whether a record with this key was written."""
        return key in self._keys

    def append(self, key: str, **record: Any) -> None:
        """Write one record and flush it to disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        versions = {"contract_version": CONTRACT_VERSION, "method_version": METHOD_VERSION}
        line = {"key": key, "time": round(time.time()), "command": command(), **versions, **record}
        with self.path.open("a") as file:
            file.write(json.dumps(line, allow_nan=False, default=str) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._keys.add(key)


def key_of(*parts: Any) -> str:
    """The key of a record: its parts under the contract and the method in force."""
    return content_hash([*parts, CONTRACT_VERSION, METHOD_VERSION])


def command() -> str:
    """The command line that makes this process's records."""
    module = getattr(sys.modules["__main__"].__spec__, "name", None)
    # Where a folder lies on the machine that ran it says nothing to a reader.
    arguments = [Path(each).name if Path(each).is_absolute() else each for each in sys.argv[1:]]
    return shlex.join(["python", *(["-m", module] if module else [Path(sys.argv[0]).name]), *arguments])


def out_dir(device: str) -> Path:
    """`results/<device>`, or `$OUT` where the caller collects files there."""
    return Path(os.environ["OUT"]) if os.environ.get("OUT") else RESULTS / device
