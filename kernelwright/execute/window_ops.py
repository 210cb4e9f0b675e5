"""Worker side of `windowed`: the calls of one window, in the process of a kernel or of the baselines.

Nothing that is said here by a candidate's process is believed: the judge has another process read what lies
where this one says that it lies, and what is there must belong to inputs that came with the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.execute import parcel
from kernelwright.execute.foreign import tell
from kernelwright.execute.open_runner import OpenRunner
from kernelwright.execute.ops import act_of, flush, guarded
from kernelwright.execute.packing import Packing
from kernelwright.execute.spoil import spoil
from kernelwright.execute.state import BenchState, bench_state

State = dict[str, Any]
Reply = dict[str, Any]
NOTHING = "nothing"
"""A subject without calls: what a window costs."""


def settle(state: State, *, subject: str, slot: str) -> Reply:
    """One call that nobody times, so that a process that has slept or was held is awake; then caches emptied,
    nothing under way, and this process's context the one that the device works for."""
    bench = bench_state(state)
    act = _act(bench, subject)

    def work() -> Reply:
        if act is not None:
            with torch.no_grad():
                act(bench.slot(slot).args)
        flush(state)
        torch.cuda.synchronize()
        return {}

    return guarded(bench, work)


def window(state: State, *, subject: str, slot: str, socket: int, nbytes: int, calls: int) -> Reply:
    """Take the parcel, make the calls, and tell where the results lie."""
    bench = bench_state(state)
    packing = _packing(bench, slot)
    act = _act(bench, subject)

    def work() -> Reply:
        flat = parcel.take(state, nbytes, socket)
        sets = [packing.views(flat, number) for number in range(calls if act else 0)]
        with torch.no_grad():
            state["window"] = returned = [act(args) for args in sets] if act else [_marker(state)]
        read = [each for result in returned for each in _outputs(bench, result)]
        torch.cuda.synchronize()
        state["window_of"] = (sets if subject == "kernel" else [], read)
        return {"places": tell(state, read)}

    return guarded(bench, work)


def close_window(state: State) -> Reply:
    """Overwrite the results, so that none passes for a later one, and let go of all."""
    bench = bench_state(state)

    def work() -> Reply:
        results, (sets, read) = state.pop("window", []), state.pop("window_of", ([], []))
        if isinstance(bench.runner, OpenRunner):
            for args, result in zip(sets, results, strict=False):
                bench.runner.promised(args, result)
        inputs = [place.held for place in bench.slots.values()]
        spoil([results, read], [bench.reference.weights(), _marker(state), *inputs])
        results.clear()
        read.clear()
        torch.cuda.synchronize()
        parcel.drop(state)
        return {}

    return guarded(bench, work)


def _act(bench: BenchState, subject: str) -> Callable[[Sequence[Any]], Any] | None:
    """What is timed, without anything of ours around it; None for nothing."""
    if subject == NOTHING:
        return None
    runner = bench.runner
    return runner.call if subject == "kernel" and isinstance(runner, OpenRunner) else act_of(bench, subject)


def _outputs(bench: BenchState, result: Any) -> list[torch.Tensor]:
    """The outputs of one call, as they are read: one element behind the other."""
    found = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return [each.contiguous() for each in found[: len(bench.problem.outputs)]]


def _packing(bench: BenchState, slot: str) -> Packing:
    """Derived once from the slot's arguments; a process for baselines does not keep those."""
    place = bench.slot(slot)
    if place.packing is None:
        place.packing = Packing.of(place.args)
        if bench.runner is None:
            place.rest()
    return place.packing


def _marker(state: State) -> torch.Tensor:
    """A tensor that is read where nothing was computed."""
    marker = state.get("marker")
    if not isinstance(marker, torch.Tensor):
        marker = state["marker"] = torch.zeros(1024, device="cuda")
    return marker
