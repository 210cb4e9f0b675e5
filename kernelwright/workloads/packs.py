"""`Pack`: what the command line knows of a workload pack, and the list of packs.

A pack adds one module with a `PACK` in it, and one line in `PACKS`. Other distributions add theirs through
the entry-point group `kernelwright.packs`. Not covered: `workload optimize`, which would search for kernels
of a pack's problems; give `kernelwright optimize` the problem's file instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kernelwright.core.registry import Registry


@dataclass(frozen=True, slots=True)
class Pack:
    """One workload pack."""

    name: str
    summary: str
    """What it does, in one line."""
    public: str
    """The module that its users import."""
    problems: tuple[Path, ...]
    """Problem files for `kernelwright optimize`."""
    bench: Callable[[], Iterator[dict[str, Any]]]
    """Measures beside the field's own libraries; yields records as they are made."""
    needs: tuple[str, ...] = ()
    """Modules without which the pack cannot be used."""
    peers: tuple[str, ...] = ()
    """Modules that its benchmark measures beside; those that are missing are left out by name."""
    extra: str | None = None
    """The optional dependencies (`kernelwright[<extra>]`) that bring what it needs and its peers."""

    def unavailable(self) -> str | None:
        """Why it cannot be used here, and the next step; None if it can."""
        absent = [module for module in self.needs if find_spec(module) is None]
        if not absent:
            return None
        return f"{', '.join(absent)} not installed; pip install 'kernelwright[{self.extra or self.name}]'"

    def absent_peers(self) -> dict[str, str]:
        """Peers that the benchmark would leave out, each with the reason."""
        absent = [module for module in self.peers if find_spec(module) is None]
        step = f"not installed; pip install 'kernelwright[{self.extra or self.name}]'"
        return dict.fromkeys(absent, step)


PACKS: Registry[Pack] = Registry(
    "pack",
    {
        "datatypes": "kernelwright.workloads.datatypes.pack:PACK",
        "option_pricing": "kernelwright.workloads.option_pricing.pack:PACK",
    },
)


def describe(pack: Pack) -> dict[str, Any]:
    """What `workload list` says of a pack."""
    reason = pack.unavailable()
    return {
        "name": pack.name,
        "summary": pack.summary,
        "import": pack.public,
        "available": reason is None,
        "reason": reason,
        "problems": [path.name for path in pack.problems],
        "absent_peers": pack.absent_peers(),
    }
