"""Worker side of the device clocks: windows between events, graph replays, sentinels.

A sealed kernel has no host code, so this process is ours and its events can be believed; open
kernels are never timed here (`windows`). Before each window the cache is flushed by reading, and a spin
on the device keeps it busy until the host has enqueued the whole call: without it the window of a short
kernel measures Python. The flush and the spin end before the first event by the order of the stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import EnvironmentFault, first_line
from kernelwright.execute.flush import Flusher
from kernelwright.execute.graphs import Replay
from kernelwright.execute.reports import KernelFault, KernelRefused, PlanRefused
from kernelwright.execute.spoil import spoil
from kernelwright.execute.state import BenchState, Slot, bench_state
from kernelwright.measure.gpu import gpu_state

State = dict[str, Any]
Reply = dict[str, Any]

MAX_COPIES = 64
"""Sets of inputs that a replay goes through."""
CACHE_MULTIPLE = 3
"""Rotated inputs should be so many times the last-level cache, so that none is found there."""
MAX_LAUNCHES = 2000
"""Calls in one captured graph."""
MAX_LEAD_CYCLES = 20_000_000
_SENTINEL_FLOATS = 32 << 20
_SENTINEL_PRODUCT = 2048
_COPIES = 96


def unready(state: State, *, subjects: Sequence[str]) -> list[str]:
    """Those of these baselines that have not been made yet."""
    known = bench_state(state).baselines
    return [name for name in subjects if name != "kernel" and name not in known]


def warm(state: State, *, subjects: Sequence[str], slots: Sequence[str], calls: int) -> Reply:
    """Untimed calls; `host_us` is what the host takes to enqueue the slowest subject, once warm."""
    bench = bench_state(state)

    def enqueue_us(name: str) -> float:
        act = _act(bench, name)
        return min(_enqueue_us(act, bench.slot(slot).args) for slot in slots for _ in range(calls))

    return _guarded(lambda: {"host_us": max(enqueue_us(name) for name in subjects)})


def events(state: State, *, rounds: Sequence[tuple[Sequence[str], str]], lead_cycles: int) -> Reply:
    """Time single calls: for each `(order, slot)` the microseconds by subject."""
    bench = bench_state(state)

    def timed(name: str, place: Slot) -> float:
        act, found = _act(bench, name), []
        if name == "kernel":
            _spoil(bench, place.result, place)
            place.result = None
        us = _window_us(state, lambda: found.append(act(place.args)), lead_cycles)
        if name == "kernel":
            place.result = found[0]
        else:
            _spoil(bench, found[0], place)
        return us

    def work() -> Reply:
        taken = [{name: timed(name, bench.slot(slot)) for name in order} for order, slot in rounds]
        return {"rounds": taken, "gpu": gpu_state()}

    return _guarded(work)


def capture(state: State, *, subjects: Sequence[str], slots: Sequence[str], window_us: float) -> Reply:
    """Capture each subject over rotating inputs, enough calls for a window of about `window_us`.

    `reasons` names the subjects that cannot be captured.
    """
    bench = bench_state(state)
    sets, footprint = _rotation(bench, slots)
    replays: dict[str, Replay] = {}
    state["replays"] = replays

    def work() -> Reply:
        reasons: dict[str, str] = {}
        rounds = 0
        for name in subjects:
            try:
                rounds = rounds or _rounds(state, _captured(bench, name, sets, 1), window_us)
                replays[name] = _captured(bench, name, sets, rounds)
            except RuntimeError as error:
                reasons[name] = f"it cannot be captured: {first_line(error)}"
        _keep_results(bench, slots, replays)
        return {"launches": len(sets) * rounds, "reasons": reasons, "footprint_bytes": footprint}

    return _guarded(work)


def replayed(state: State, *, rounds: Sequence[tuple[Sequence[str], str]], lead_cycles: int) -> Reply:
    """Time replays: for each round the microseconds of one call, by subject."""
    bench = bench_state(state)
    replays: dict[str, Replay] = state["replays"]

    def timed(name: str) -> float:
        if name == "kernel":
            _spoil(bench, replays[name].results, *bench.slots.values())
        return _window_us(state, replays[name].replay, lead_cycles) / replays[name].launches

    def work() -> Reply:
        return {"rounds": [{name: timed(name) for name in order} for order, _ in rounds], "gpu": gpu_state()}

    return _guarded(work)


def release(state: State) -> None:
    """Free captured graphs."""
    state.pop("replays", None)


def null_windows(state: State, *, count: int, lead_cycles: int) -> list[float]:
    """Microseconds of empty windows."""
    return [_window_us(state, lambda: None, lead_cycles) for _ in range(count)]


def sentinels(state: State, *, lead_cycles: int) -> dict[str, float]:
    """Microseconds of a copy of 128 MiB and a product of 2048 squared; shortest of five."""
    source, sink, square, product = _sentinel_tensors(state)
    works: dict[str, Callable[[], Any]] = {
        "copy_us": lambda: sink.copy_(source),
        "product_us": lambda: torch.mm(square, square, out=product),
    }
    return {
        name: min(_window_us(state, work, lead_cycles, flush=False) for _ in range(5))
        for name, work in works.items()
    }


def copies(state: State) -> float:
    """Microseconds of a copy of 128 MiB, among many: longer than the slice of time that one of several
    contexts gets, so that work of another one shows."""
    source, sink, *_ = _sentinel_tensors(state)

    def work() -> None:
        for _ in range(_COPIES):
            sink.copy_(source)

    return min(_window_us(state, work, 0, flush=False) for _ in range(2)) / _COPIES


def _sentinel_tensors(state: State) -> tuple[torch.Tensor, ...]:
    """Source and sink of the copy, factor and result of the product."""
    if "sentinels" not in state:
        tensors = [torch.ones(_SENTINEL_FLOATS, device="cuda") for _ in range(2)]
        square = torch.ones(_SENTINEL_PRODUCT, _SENTINEL_PRODUCT, device="cuda", dtype=torch.bfloat16)
        state["sentinels"] = (*tensors, square, torch.empty_like(square))
    found: tuple[torch.Tensor, ...] = state["sentinels"]
    return found


def alias(state: State, *, name: str, of: str) -> None:
    """Let `name` stand for the baseline `of`, for series of a thing against itself."""
    bench = bench_state(state)
    bench.baselines[name] = bench.baselines[of]


def _act(bench: BenchState, subject: str) -> Callable[[Sequence[Any]], Any]:
    return bench.loaded().run if subject == "kernel" else bench.baselines[subject]


def _spoil(bench: BenchState, result: Any, *places: Slot) -> None:
    """Overwrite what a call returned."""
    spoil(result, [bench.reference.weights(), *(place.held for place in places)])


def _enqueue_us(act: Callable[[Sequence[Any]], Any], args: Sequence[Any]) -> float:
    with torch.no_grad():
        torch.cuda.synchronize()
        start = time.perf_counter()
        act(args)
        elapsed = time.perf_counter() - start
        torch.cuda.synchronize()
    return elapsed * 1e6


def _window_us(state: State, call: Callable[[], Any], lead_cycles: int, *, flush: bool = True) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    with torch.no_grad():
        if flush:
            _flusher(state).flush()
        if lead_cycles:
            torch.cuda._sleep(min(lead_cycles, MAX_LEAD_CYCLES))  # type: ignore[no-untyped-call]
        start.record()
        call()
        end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3


def _flusher(state: State) -> Flusher:
    flusher = state.get("flusher")
    if not isinstance(flusher, Flusher) or flusher.device != "cuda":
        flusher = state["flusher"] = Flusher("cuda")
    return flusher


def _rotation(bench: BenchState, slots: Sequence[str]) -> tuple[list[list[Any]], int]:
    """Sets of arguments at addresses of their own, and the bytes of all of them."""
    sets = [bench.slot(slot).args for slot in slots]
    each = sum(leaf.nbytes for leaf in pytree.tree_leaves(sets[0]) if isinstance(leaf, torch.Tensor))
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    wanted = min(max(len(sets), -(-CACHE_MULTIPLE * cache // max(each, 1))), MAX_COPIES)
    wanted += wanted % 2  # with two slots, neighbours differ all the way round
    copies = [
        pytree.tree_map(
            lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, sets[i % len(sets)]
        )
        for i in range(len(sets), wanted)
    ]
    return [*sets, *copies], each * max(wanted, len(sets))


def _captured(bench: BenchState, name: str, sets: Sequence[Sequence[Any]], rounds: int) -> Replay:
    module = bench.reference.module
    act = (lambda args: module(*args)) if name == "eager_graph" else _act(bench, name)
    return Replay([lambda args=args: act(args) for args in sets], rounds)  # type: ignore[misc]


def _rounds(state: State, replay: Replay, window_us: float) -> int:
    once = _window_us(state, replay.replay, 0)
    return max(1, min(round(window_us / once), MAX_LAUNCHES // replay.launches))


def _keep_results(bench: BenchState, slots: Sequence[str], replays: dict[str, Replay]) -> None:
    """Let the timed outputs of the kernel be found in its slots; each replay overwrites them."""
    if "kernel" in replays:
        for slot, result in zip(slots, replays["kernel"].results, strict=False):
            bench.slot(slot).result = result


def _guarded(work: Callable[[], Reply]) -> Reply:
    """What a candidate can cause becomes part of the reply."""
    if not torch.cuda.is_available():
        raise EnvironmentFault("device clocks need a GPU; none is visible here; use --target cpu")
    try:
        return work()
    except (PlanRefused, KernelRefused) as error:
        return {"failure": ["contract", first_line(error)], "poisoned": False}
    except KernelFault as error:
        return {"failure": ["safety", first_line(error)], "poisoned": True}
    except torch.AcceleratorError as error:
        return {"failure": ["crash", f"the device reports: {first_line(error)}"], "poisoned": True}
