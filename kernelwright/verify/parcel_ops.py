"""Worker-side half of `parcels`: in the reference's process, which no candidate enters.

Contents of one call are an element-wise mixture of two draws, by a seed of its own: as quick as a copy, of
values that the problem's file draws, and unlike what any other call was given. `begin` runs eager on
some sets and keeps what it gave at places that moved; `pack` puts the sets into a parcel; `look` reads the
results of a process there while the clock runs; `compare` says whether they belong to the contents.

Not covered: references that change inputs in place.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError
from kernelwright.execute import foreign, parcel
from kernelwright.execute.packing import Packing
from kernelwright.execute.place import Place
from kernelwright.execute.sizes import result_bytes
from kernelwright.execute.state import bench_state
from kernelwright.verify.compare import expectations
from kernelwright.verify.expectation import Expectation, cut
from kernelwright.verify.fresh_ops import follows
from kernelwright.verify.moved import around, drawn, far, moved
from kernelwright.verify.truth import seeded

WATCHED = 4
"""Calls of one window whose results are looked at, at most; nobody else knows which."""
_SECRET = secrets.SystemRandom()
MEMORY = 0.3
"""Share of a device that the inputs and results of one window may take."""


@dataclass
class _Piece:
    """What is expected at one place of one result."""

    at: foreign.Piece
    now: Tensor
    """Eager's, on the new contents."""
    was: Expectation
    largest: tuple[float, float]


@dataclass
class _Round:
    """Contents of one round, and what was seen of them."""

    slot: str
    seeds: list[int] = field(default_factory=list)
    pieces: list[_Piece] = field(default_factory=list)
    read: list[bytes | None] = field(default_factory=list)


def room(state: dict[str, Any], *, slot: str, seeds: Sequence[int]) -> int:
    """Draw the two that are mixed; how many sets of inputs, with results, fit into memory."""
    bench = bench_state(state)
    draw = bench.slot(slot).draw
    state["mixed"] = [bench.reference.draw(seed, draw) for seed in seeds]
    each = Packing.of(state["mixed"][0]).nbytes + result_bytes(bench.problem, bench.workload)
    total = torch.cuda.get_device_properties(0).total_memory
    return max(1, int(MEMORY * total // max(each, 1)))


def begin(
    state: dict[str, Any], *, slot: str, seeds: Sequence[int], pieces: int, nbytes: int
) -> dict[str, Any]:
    """Contents by these seeds, one for each call; in how many of the watched calls outputs moved, and why in
    none.

    `pieces` places for each of their outputs that moved, of `nbytes` bytes or less.
    """
    bench = bench_state(state)
    kept = expectations(state, slot)[: len(bench.problem.outputs)]
    current = state["round"] = _Round(slot, list(seeds))
    if bench.problem.random != "none" or follows(state):
        return {"moved": 0, "why": "outputs depend on more than inputs: random numbers, or state"}
    count, args = 0, _like(state)
    for call in _SECRET.sample(range(len(seeds)), min(WATCHED, len(seeds))):
        _mix(state, seeds[call], args)
        bench.reference.reset()
        try:
            outputs = seeded(0, lambda: bench.reference.forward(args)[: len(kept)])
        except ProblemError as error:
            current.pieces.clear()
            return {"moved": 0, "why": f"on mixed contents the {error}"}
        places = [
            _chosen(call * len(kept) + number, was, new, pieces, nbytes)
            for number, (was, new) in enumerate(zip(kept, outputs, strict=True))
        ]
        count += any(found > 0 for found, _ in places)
        current.pieces += [piece for _, chosen in places for piece in chosen]
        del outputs
    bench.reference.reset()
    return {"moved": count, "why": "" if count else "no output moved with the inputs"}


def _chosen(place: int, was: Expectation, new: Tensor, pieces: int, nbytes: int) -> tuple[int, list[_Piece]]:
    """How many places were found at which a result moved; what is expected there, and anywhere."""
    flat = new.detach().contiguous().view(-1)
    found = drawn(moved(was, flat, anew=True), pieces)
    anywhere = [secrets.randbelow(flat.numel())] if flat.numel() else []
    chosen = []
    for one in [*found, *anywhere]:
        _, first, size = at = around(place, one, was, nbytes)
        begin, end = first // flat.element_size(), (first + size) // flat.element_size()
        chosen.append(_Piece(at, flat[begin:end].clone(), _own(cut(was, first, size)), was.largest))
    return len(found), chosen


def pack(state: dict[str, Any], *, socket: int) -> int:
    """Put the round's contents into a parcel, and its descriptor into the socket; its bytes."""
    current: _Round = state["round"]
    packing = Packing.of(state["mixed"][0])
    flat = parcel.make(state, packing.nbytes * len(current.seeds), socket)
    for number, seed in enumerate(current.seeds):
        _mix(state, seed, packing.views(flat, number))
    torch.cuda.synchronize()
    return flat.numel()


def look(state: dict[str, Any], *, places: Sequence[Place]) -> None:
    """Read the round's pieces where the results lie."""
    current: _Round = state["round"]
    current.read = foreign.read(state, places, [piece.at for piece in current.pieces])


def compare(state: dict[str, Any]) -> dict[str, int]:
    """Of the pieces that were read last: how many, how many are wrong, and how many could not be read."""
    current: _Round = state["round"]
    wrong = unread = 0
    for piece, data in zip(current.pieces, current.read, strict=True):
        if data is None:
            unread += 1
            continue
        given = torch.frombuffer(bytearray(data), dtype=piece.now.dtype).to(piece.now.device)
        wrong += far(given, piece.now, piece.was, piece.largest) > 0
    count = len(current.read)
    current.read = []
    return {"compared": count - unread, "wrong": wrong, "unread": unread}


def unpack(state: dict[str, Any]) -> None:
    """Let go of the parcel."""
    parcel.drop(state)


def let_go(state: dict[str, Any]) -> None:
    """Let go of other processes' memory."""
    foreign.let_go(state)


def end(state: dict[str, Any]) -> None:
    """Let go of everything."""
    parcel.drop(state)
    let_go(state)
    for name in ("round", "mixed"):
        state.pop(name, None)


def _like(state: dict[str, Any]) -> list[Any]:
    """Arguments to mix into, of this process's own."""
    packing, device = Packing.of(state["mixed"][0]), bench_state(state).device
    return packing.views(torch.empty(max(packing.nbytes, 1), dtype=torch.uint8, device=device), 0)


def _mix(state: dict[str, Any], seed: int, onto: list[Any]) -> None:
    """Each element from the one draw or the other."""
    device = bench_state(state).device
    generator = torch.Generator(device).manual_seed(seed)
    one, other = (pytree.tree_leaves(args) for args in state["mixed"])
    for a, b, place in zip(one, other, pytree.tree_leaves(onto), strict=True):
        if isinstance(place, Tensor):
            mask = torch.empty(_once(place).shape, dtype=torch.bool, device=device)
            mask.random_(0, 2, generator=generator)
            _once(place).copy_(torch.where(mask, _once(a), _once(b)))


def _once(tensor: Tensor) -> Tensor:
    """The same elements, those that a stride of 0 repeats only once."""
    return tensor[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]


def _own(piece: Expectation) -> Expectation:
    """A copy, so that what is expected of whole outputs can be freed."""
    tolerance = None if piece.tolerance is None else piece.tolerance.clone()
    return replace(piece, eager=piece.eager.clone(), oracle=piece.oracle.clone(), tolerance=tolerance)
