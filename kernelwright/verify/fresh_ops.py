"""Worker-side half of `fresh`: in the reference's process, which no candidate enters.

`freshen` changes a slot's contents, or draws them anew (`execute.stir`), runs eager on them, and picks
places in the outputs that moved with them; `compare_fresh` says whether a call gave what belongs to the new
contents (`moved`).

Not covered: precision, which is judged on whole outputs of contents that were drawn.
"""

from __future__ import annotations

from typing import Any, Literal

import torch

from kernelwright.core.errors import ProblemError
from kernelwright.execute.sizes import is_large
from kernelwright.execute.state import BenchState, bench_state
from kernelwright.execute.stir import addresses, changes, draw_anew, settle, stir, touch
from kernelwright.verify.compare import expectations, outputs_follow_state
from kernelwright.verify.expectation import cut
from kernelwright.verify.judge import judge
from kernelwright.verify.moved import around, drawn, far, moved
from kernelwright.verify.truth import seeded

How = Literal["one", "some", "all"]
"""How many elements change."""


def freshen(
    state: dict[str, Any], *, slot: str, seed: int, pieces: int, nbytes: int, how: How = "some"
) -> dict[str, Any]:
    """Other contents in `slot`: whether there are such, why not, and where outputs moved. Where not all can
    be other ones, some are.

    `pieces` places for each output, of `nbytes` bytes or less, as (output, first byte, bytes); fewer
    where little moved.
    """
    bench = bench_state(state)
    if bench.slot(slot).expected is None:
        settle(state, slot=slot)
    state["fresh"] = None
    kept = expectations(state, slot)[: len(bench.problem.outputs)]
    why = _fixed(state) or _changed(state, slot, seed, how)
    if why:
        settle(state, slot=slot)
        return _unchanged(why)
    anew = bench.slot(slot).anew
    try:
        bench.reference.reset()
        args = bench.slot(slot).args
        now = seeded(0, lambda: bench.reference.forward(args)[: len(kept)])
    except ProblemError as error:
        settle(state, slot=slot)
        return _unchanged(f"with changed inputs the {error}")
    state["fresh"] = now = [each.detach().contiguous().view(-1) for each in now]
    at = [
        around(number, place, was, nbytes)
        for number, (was, new) in enumerate(zip(kept, now, strict=True))
        for place in drawn(moved(was, new, anew=anew), pieces)
    ]
    why = "" if at else "no output moved with the inputs"
    return {
        "stirred": True,
        "whole": anew,
        "why": why,
        "at": at,
        "changes": [] if anew else changes(state, slot=slot),
        "own": addresses(state, slot=slot, whole=anew),
    }


def compare_fresh(state: dict[str, Any], *, slot: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """How many of the samples are not what belongs to the contents that `slot` has now.

    A sample has its output (`tensor`), its first byte and size, and the bytes in hexadecimal.
    """
    if follows(state):
        return {"compared": 0, "wrong": 0, "why": "outputs depend on state that each call changes"}
    kept, fresh, wrong = expectations(state, slot), state.get("fresh"), 0
    anew = bench_state(state).slot(slot).anew
    for sample in samples:
        number = sample["tensor"]
        piece = cut(kept[number], sample["first"], sample["size"])
        data = torch.frombuffer(bytearray.fromhex(sample["data"]), dtype=piece.eager.dtype)
        data = data.to(piece.eager.device)
        if fresh is None:
            wrong += judge(data, piece).kind is not None
        else:
            first = sample["first"] // piece.eager.element_size()
            largest = kept[number].largest if anew else None
            wrong += far(data, fresh[number][first : first + data.numel()], piece, largest) > 0
    return {"compared": len(samples), "wrong": wrong}


def compare_touched(state: dict[str, Any], *, slot: str) -> dict[str, Any]:
    """Of all elements that were handed over in `slot`, how many do not belong to the contents it has now."""
    kept, fresh = expectations(state, slot), state["fresh"]
    outputs = bench_state(state).slot(slot).outputs
    wrong = [
        far(output.detach().contiguous().view(-1), now, was, None)
        for output, now, was in zip(outputs, fresh, kept, strict=False)
    ]
    return {"wrong": sum(wrong), "elements": sum(now.numel() for now in fresh)}


def follows(state: dict[str, Any]) -> bool:
    """`outputs_follow_state`, asked once for each problem and workload."""
    bench = bench_state(state)
    known = state.setdefault("outputs_follow_state", {})
    key = (bench.problem.hash, tuple(sorted(bench.workload.axes.items())))
    if key not in known:
        known[key] = outputs_follow_state(state)
    return bool(known[key])


def _unchanged(why: str) -> dict[str, Any]:
    return {"stirred": False, "whole": False, "why": why, "at": [], "changes": [], "own": []}


def calm(state: dict[str, Any], *, slot: str) -> bool:
    """Contents of a slot as they were drawn, and nothing remembered of others; whether all were new."""
    state["fresh"] = None
    slots = bench_state(state).slots
    anew = slot in slots and slots[slot].anew
    settle(state, slot=slot)
    return anew


def _fixed(state: dict[str, Any]) -> str:
    """Why contents cannot be changed here, or nothing."""
    problem = bench_state(state).problem
    if problem.mutated:
        return "the problem changes tensors in place"
    return "" if problem.random == "none" else "the reference draws random numbers"


def _changed(state: dict[str, Any], slot: str, seed: int, how: How) -> str:
    """Change contents; why that cannot be, or nothing."""
    if how == "all" and not _is_large(bench_state(state)) and draw_anew(state, slot=slot, seed=seed):
        return ""
    change = touch if how == "one" else stir
    return "" if change(state, slot=slot, seed=seed) else "no input can be changed"


def _is_large(bench: BenchState) -> bool:
    return is_large(bench.problem, bench.workload)
