"""The pack beside the MPI libraries that are installed: the same bytes, and how fast. Yields records.

Each MPI runs in processes of its own (`mpis`): there `validator` packs random types, and `beside` measures
the grid. An MPI that is not installed is a record with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kernelwright.workloads.datatypes.mpis import FILES, Peer, peers

PACKAGE = "kernelwright.workloads.datatypes"


def records(types: int, grid: str | None, names: Sequence[str] = tuple(FILES)) -> Iterator[dict[str, Any]]:
    """Equality on so many random types (none for 0), then a grid of `beside`, for each of the MPIs."""
    there, absent = peers()
    for peer in there:
        if peer.name in names and types:
            yield equality(peer, types, 0)
        if peer.name in names and grid:
            yield from _speeds(peer, grid)
    for name in set(names) & set(absent):
        yield {"what": "absent", "peer": name, "reason": absent[name]}


def short() -> Iterator[dict[str, Any]]:
    """A minute or two of it."""
    yield from records(1000, "short")


def equality(peer: Peer, types: int, seed: int) -> dict[str, Any]:
    """What became of random types under one MPI."""
    arguments = ["-m", f"{PACKAGE}.validator", "--types", str(types), "--seed", str(seed)]
    found = json.loads("".join(peer.lines(arguments)))
    return {"what": "equality", "peer": peer.name, "version": peer.version, **found}


def _speeds(peer: Peer, grid: str) -> Iterator[dict[str, Any]]:
    for line in peer.lines(["-m", f"{PACKAGE}.beside", "--grid", grid]):
        yield {"peer": peer.name, "version": peer.version, **json.loads(line)}
