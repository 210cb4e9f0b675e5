"""Replies of a worker in which candidate code ran, read with distrust.

Native code can write whatever it likes onto its worker's channel. A reply that does not have the
form that the operation promises is a failure of the candidate, never an error here. That addresses
and sizes are true is not checked: whoever reads memory there gets what is there, or nothing.
"""

from __future__ import annotations

import re
from typing import Any, get_args

from kernelwright.execute.memory import Piece
from kernelwright.execute.place import HANDLE_BYTES, Place
from kernelwright.execute.reports import (
    CandidateFailed,
    Failure,
    FailureKind,
    Position,
    RunReport,
    TensorReport,
)


def failure_in(reply: Any) -> Failure | None:
    """The failure that a reply carries, or is; None if it is a result."""
    match reply:
        case {"failure": [str(kind), str(message)]} if kind in get_args(FailureKind):
            return Failure(kind, message)  # type: ignore[arg-type]
        case dict() if "failure" not in reply:
            return None
    return _malformed().failure


def microseconds(reply: dict[str, Any], name: str) -> float:
    """A time out of a reply; CandidateFailed if it is not one."""
    match reply.get(name):
        case int() | float() as value if value >= 0:
            return float(value)
    raise _malformed()


def run_report(slot: str, reply: dict[str, Any]) -> RunReport:
    """The report of a run; CandidateFailed if the reply has another form."""
    rows = reply.get("tensors")
    if not isinstance(rows, list):
        raise _malformed()
    return RunReport(slot, microseconds(reply, "elapsed_us"), tuple(_tensor(row) for row in rows))


def places(reply: dict[str, Any]) -> list[Piece]:
    """Address and size of each result of a timed call."""
    rows = reply.get("at")
    if not isinstance(rows, list):
        raise _malformed()
    return [_pair(row) for row in rows]


def window_places(reply: dict[str, Any]) -> list[Place]:
    """Where each result of a window lies: handle of an allocation, first byte, bytes."""
    rows = reply.get("places")
    if not isinstance(rows, list):
        raise _malformed()
    return [_place(row) for row in rows]


def pieces(found: list[Piece], positions: tuple[Position, ...]) -> list[Piece]:
    """Addresses of positions; one outside its tensor becomes an address that cannot be read."""
    result: list[Piece] = []
    for tensor, first, size in positions:
        address, nbytes = found[tensor] if 0 <= tensor < len(found) else (0, 0)
        inside = first >= 0 and first + size <= nbytes
        result.append((address + first if inside else 0, size))
    return result


def _tensor(row: Any) -> TensorReport:
    match row:
        case {
            "name": str(name),
            "address": int(address),
            "nbytes": int(nbytes),
            "dtype": str(dtype),
            "shape": list(shape),
        } if all(isinstance(size, int) for size in shape):
            return TensorReport(name, address, nbytes, dtype, tuple(shape))
    raise _malformed()


def _pair(row: Any) -> Piece:
    match row:
        case [int(address), int(nbytes)]:
            return address, nbytes
    raise _malformed()


def _place(row: Any) -> Place:
    match row:
        case [str(handle), int(), int()] if re.fullmatch(f"([0-9a-f]{{{2 * HANDLE_BYTES}}})?", handle):
            return list(row)
    raise _malformed()


def _malformed() -> CandidateFailed:
    return CandidateFailed(
        Failure("safety", "the kernel's worker sent a reply that its operation does not have")
    )
