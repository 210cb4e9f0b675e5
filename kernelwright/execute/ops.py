"""What the bench asks of its workers. Each function runs there, gets `state` first, returns JSON.

What a candidate's code can cause inside the worker (a launch that fails, a plan that does not fit,
a device error found while synchronizing) comes back as `{"failure": ...}`; a device error leaves
the CUDA context useless, so it also says `"poisoned": true`. Crashes and hangs need no code here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem, Workload
from kernelwright.execute import arena, device_arena
from kernelwright.execute.baselines import BaselineUnavailable, make_baseline
from kernelwright.execute.flush import Flusher
from kernelwright.execute.open_runner import OpenRunner
from kernelwright.execute.reports import KernelFault, KernelRefused, PlanRefused
from kernelwright.execute.runner import Runner
from kernelwright.execute.spoil import spoil
from kernelwright.execute.state import BenchState, Slot, bench_state
from kernelwright.problems.reference import Reference

State = dict[str, Any]
Reply = dict[str, Any]


def open_problem(
    state: State,
    *,
    problem: Reply,
    workload: Reply,
    device: str,
    weights_seed: int,
    threads: int,
    beside: bool = False,
) -> Reply:
    """Begin a problem at a workload; whatever the worker knew before is dropped, or waits `beside` it."""
    torch.set_num_threads(threads)
    if not beside:
        close(state)
    parsed, point = Problem.model_validate(problem), Workload.model_validate(workload)
    reference = Reference.open(parsed, point, device, weights_seed)
    state["bench"] = BenchState(parsed, point, device, reference)
    state.setdefault("points", []).append(state["bench"])
    return {"threads": torch.get_num_threads()}


def close(state: State) -> None:
    """Drop the problem, with the code that was compiled for it."""
    state.pop("bench", None)
    points: list[BenchState] = state.pop("points", [])
    if points:
        _end(points)
        torch._dynamo.reset()


def select(state: State, *, workload: Reply) -> None:
    """Go on at a workload that was opened before."""
    wanted = Workload.model_validate(workload)
    state["bench"] = next(each for each in state["points"] if each.workload == wanted)


def leave(state: State, *, workload: Reply) -> None:
    """Drop a workload that is not the selected one, if it is open."""
    wanted = Workload.model_validate(workload)
    points: list[BenchState] = state["points"]
    state["points"] = [each for each in points if each.workload != wanted]
    gone = [each for each in points if each.workload == wanted]
    del points
    if gone:
        _end(gone)


def _end(points: list[BenchState]) -> None:
    """Free what these hold; the list is empty afterwards."""
    device = points[0].device
    for each in points:
        if each.runner is not None:
            each.runner.close()
    points.clear()
    if device == "cuda":
        torch.cuda.empty_cache()


def draw(state: State, *, slot: str, seed: int, draw: str, lazily: bool = False) -> None:
    """Fill a slot with inputs drawn from `seed`, now or `lazily` when they are looked at."""
    bench = bench_state(state)
    bench.slots.pop(slot, None)
    bench.slots[slot] = Slot(seed, draw, lambda: bench.reference.draw(seed, draw))
    if not lazily:
        bench.slots[slot].redraw()


def drop(state: State, *, slot: str) -> None:
    """Free a slot."""
    bench_state(state).slots.pop(slot, None)


def reset(state: State) -> None:
    """Mutated buffers back to their first values, and inputs to what was drawn where they are mutated."""
    bench = bench_state(state)
    bench.reference.reset()
    if bench.problem.changes_inputs:
        for place in bench.slots.values():
            if place.held is not None:
                place.refresh()


def remake_weights(state: State, *, seed: int) -> None:
    """Give the reference other weights, in place, so that baselines made before follow."""
    bench = bench_state(state)
    fresh = Reference.open(bench.problem, bench.workload, bench.device, seed).weights()
    with torch.no_grad():
        for name, tensor in bench.reference.weights().items():
            tensor.copy_(fresh[name])


def load(state: State, *, kernel: Reply, build: Reply) -> Reply:
    """Load a kernel in place of the one before; its weights come with `prepare`."""
    bench = bench_state(state)
    unload(state)

    def work() -> Reply:
        parsed, made = Kernel.model_validate(kernel), Build.model_validate(build)
        bench.runner = (
            Runner(parsed, made, bench.problem, bench.axes, bench.device)
            if parsed.trust == "sealed"
            else OpenRunner(parsed, made, bench.reference, bench.results())
        )
        bench.kernel, bench.build = parsed, made
        return {}

    return guarded(bench, work)


def unload(state: State) -> None:
    """Free the kernel: its module, what it prepared, and on a device all that it computed."""
    bench = bench_state(state)
    if bench.runner is not None:
        bench.runner.close()
    bench.runner = bench.kernel = bench.build = None
    if bench.device == "cuda":
        state.pop("replays", None)
        for place in bench.slots.values():
            spoil([place.outputs, place.result], [place.held, bench.reference.weights()])
            place.outputs, place.result = [], None
        torch.cuda.synchronize()


def hold(state: State, *, args: Sequence[str], outputs: Sequence[str]) -> None:
    """Where memory is short: have the arguments of these slots alone, drawn now, and the outputs of those."""
    bench = bench_state(state)
    for name, place in bench.slots.items():
        if name not in args:
            place.rest()
        if name not in outputs:
            _drop_outputs(bench, place)
    if bench.device == "cuda":
        torch.cuda.empty_cache()  # the other process lives in the same memory
    for name in args:
        if bench.slot(name).held is None:
            bench.slot(name).redraw()


def prepare(state: State) -> Reply:
    """Run the plan's `prepare` on the reference's weights."""
    bench = bench_state(state)
    return guarded(bench, lambda: {"us": bench.loaded().prepare(bench.reference.weights())})


def run(state: State, *, slot: str, poison: bool) -> Reply:
    """One run to be compared: from the first values of mutated buffers, its outputs kept in the slot."""
    bench = bench_state(state)
    place, runner = bench.slot(slot), bench.loaded()
    bench.reference.reset()
    if bench.problem.changes_inputs:
        place.refresh()
    _drop_outputs(bench, place)

    def work() -> Reply:
        start = time.perf_counter_ns()
        results = runner.run(place.args, poison=poison)
        _synchronize(bench)
        elapsed = (time.perf_counter_ns() - start) / 1e3
        outputs = len(bench.problem.outputs)
        place.outputs = [*results[:outputs], *(tensor.clone() for tensor in results[outputs:])]
        names = runner.results
        return {
            "elapsed_us": elapsed,
            "tensors": [_describe(*pair) for pair in zip(names, place.outputs, strict=True)],
        }

    return guarded(bench, work)


def call(state: State, *, subject: str, slot: str) -> Reply:
    """One timed call of the kernel or a baseline; where its results lie."""
    bench = bench_state(state)
    place = bench.slot(slot)
    act = act_of(bench, subject)

    def work() -> Reply:
        with torch.no_grad():
            place.result = act(place.args)
        _synchronize(bench)
        return {"at": [(tensor.data_ptr(), tensor.nbytes) for tensor in _tensors(place.result)]}

    return guarded(bench, work)


def keep_timed(state: State, *, slot: str) -> Reply:
    """Make the results of the last timed call of the kernel the slot's outputs, to be compared whole."""
    bench = bench_state(state)
    place = bench.slot(slot)

    def work() -> Reply:
        outputs = _tensors(place.result)
        place.outputs = outputs if bench.device == "cuda" else [tensor.clone() for tensor in outputs]
        return {"tensors": len(place.outputs)}

    return guarded(bench, work)


def share(state: State, *, nbytes: int) -> Reply:
    """In the reference's process: own device memory of this size; its handle."""
    return dict(device_arena.own(state, nbytes=nbytes))


def join(state: State, *, handle: str, nbytes: int) -> None:
    """In the candidate's process: map the device memory that the reference's process owns."""
    device_arena.join(state, handle=handle, nbytes=nbytes)


def export(state: State, *, slot: str, fd: int | None) -> Reply:
    """Copy a slot's outputs into the arena: shared memory, or without `fd` device memory."""
    bench = bench_state(state)
    outputs = bench.slot(slot).outputs
    if fd is not None:
        arena.write(fd, outputs)
        return {}

    def work() -> Reply:
        device_arena.write(state, outputs)
        return {}

    return guarded(bench, work)


def receive(state: State, *, slot: str, fd: int | None) -> None:
    """Outputs from the arena into a slot. Dtypes and shapes are the problem's, not the sender's.

    From shared memory they are copied. Device memory is looked at where it lies: nobody can write
    there before the next request to the candidate's process, whose device was synchronized.
    """
    bench = bench_state(state)
    layout = [(dtype, shape) for _, dtype, shape in bench.results()]
    for place in bench.slots.values():
        place.outputs = []
    if fd is None:
        bench.slot(slot).outputs = device_arena.views(state, layout)
        return
    bench.slot(slot).outputs = arena.read(fd, layout)


def baseline(state: State, *, name: str, slot: str) -> Reply:
    """Make a baseline ready, warmed up on a slot; `reason` says why there is none."""
    bench = bench_state(state)
    try:
        bench.baselines[name] = make_baseline(
            name, bench.reference.module, bench.slot(slot).args, bench.device
        )
    except BaselineUnavailable as error:
        return {"reason": str(error)}
    return {"reason": None}


def flush(state: State) -> None:
    """Put something else into the caches, by reading it."""
    bench = bench_state(state)
    flusher = state.get("flusher")
    if flusher is None or flusher.device != bench.device:
        flusher = state["flusher"] = Flusher(bench.device)
    flusher.flush()


def null(state: State) -> None:
    """Nothing: what a call costs."""


def _drop_outputs(bench: BenchState, place: Slot) -> None:
    """Free what a slot's last run gave, spoiled, so that no later call finds an answer in its memory."""
    spoil(place.outputs, [place.held, bench.reference.weights()])
    place.outputs = []


def act_of(bench: BenchState, subject: str) -> Callable[[Sequence[Any]], Any]:
    """The kernel or a baseline, as something that takes `forward`'s arguments."""
    return bench.loaded().run if subject == "kernel" else bench.baselines[subject]


def guarded(bench: BenchState, work: Callable[[], Reply]) -> Reply:
    """Run what a candidate takes part in; its failures become part of the reply."""
    try:
        return work()
    except (PlanRefused, KernelRefused) as error:
        return {"failure": ["contract", first_line(error)]}
    except KernelFault as error:
        return {"failure": ["safety", first_line(error)], "poisoned": _poisoned(bench)}
    except torch.AcceleratorError as error:
        return {"failure": ["crash", f"the device reports: {first_line(error)}"], "poisoned": True}


def _poisoned(bench: BenchState) -> bool:
    """Whether the device's context is lost: such an error is reported again by every later call."""
    try:
        _synchronize(bench)
    except torch.AcceleratorError:
        return True
    return False


def _tensors(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def _describe(name: str, tensor: torch.Tensor) -> Reply:
    return {
        "name": name,
        "address": tensor.data_ptr(),
        "nbytes": tensor.nbytes,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
    }


def _synchronize(bench: BenchState) -> None:
    if bench.device == "cuda":
        torch.cuda.synchronize()
