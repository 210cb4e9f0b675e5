"""The pack beside the MPI libraries that are installed: the same bytes, and how fast. Yields records.

Each MPI runs in processes of its own (`mpis`): there `validator` packs random types, and `beside` measures
the grid. An MPI that is not installed is a record with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kernelwright.workloads.datatypes.mpis import Peer, peers

PACKAGE = "kernelwright.workloads.datatypes"


def records(types: int = 100_000, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Equality on so many random types, then the grid, for each MPI."""
    for peer in _peers():
        if isinstance(peer, Peer):
            yield equality(peer, types, seed)
            yield from _speeds(peer, "full")
        else:
            yield peer


def short() -> Iterator[dict[str, Any]]:
    """A minute's worth of the same."""
    for peer in _peers():
        if isinstance(peer, Peer):
            yield equality(peer, 1000, 0)
            yield from _speeds(peer, "short")
        else:
            yield peer


def equality(peer: Peer, types: int, seed: int) -> dict[str, Any]:
    """What became of random types under one MPI."""
    arguments = ["-m", f"{PACKAGE}.validator", "--types", str(types), "--seed", str(seed)]
    found = json.loads("".join(peer.lines(arguments)))
    return {"what": "equality", "peer": peer.name, "version": peer.version, **found}


def _peers() -> Iterator[Peer | dict[str, Any]]:
    there, absent = peers()
    yield from there
    yield from ({"what": "absent", "peer": name, "reason": reason} for name, reason in absent.items())


def _speeds(peer: Peer, grid: str) -> Iterator[dict[str, Any]]:
    for line in peer.lines(["-m", f"{PACKAGE}.beside", "--grid", grid]):
        yield {"peer": peer.name, "version": peer.version, **json.loads(line)}
