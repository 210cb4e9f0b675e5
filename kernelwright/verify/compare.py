"""Worker-side half of the gates: what runs in the reference's process of a bench, called by name.

    bench.reference.call("kernelwright.verify.compare:compare", slot="a")

Makes the expectation of a slot's draw (oracle, eager, perturbed oracle) once, keeps it, and compares
the outputs that were handed over. No candidate's code runs in this process, and no candidate's context
can address what is kept here. Every function takes the process's `state` first and returns JSON. On a
GPU, where one expectation may take a quarter of the memory, as many are kept as leave room for the rest.

Not covered: drawing, running and handing over (`execute.ops`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError
from kernelwright.core.expr import evaluate
from kernelwright.execute.sizes import is_large, problem_bytes
from kernelwright.execute.state import BenchState, bench_state
from kernelwright.graph.capture import capture
from kernelwright.graph.oracle import oracle, retyped_module
from kernelwright.verify.bounds import Counts
from kernelwright.verify.counts import operation_counts
from kernelwright.verify.expectation import Expectation, expect, tolerance_type
from kernelwright.verify.judge import Finding, judge, plain
from kernelwright.verify.rows import independent_rows
from kernelwright.verify.truth import Yardstick, seeded, truth

KEPT, TAKEN = 0.5, 0.85
"""Shares of a GPU's memory that expectations may take, and that may be taken in all."""
BESIDE = 3
"""How many times a problem's tensors others hold beside: inputs, outputs of two calls, what eager makes on
its way."""
UNCAPTURED = Counts(reduction=1, roundings=64)
"""Counts of a reference that cannot be captured: eager's own error has to carry the bound."""


def compare(state: dict[str, Any], *, slot: str, like: str | None = None) -> list[dict[str, Any]]:
    """Compare what was handed over in `slot` with the expectation of its inputs; one row per result.

    `like` names another slot whose inputs the run was given.
    """
    expected = expectations(state, like or slot)
    outputs = bench_state(state).slot(slot).outputs
    if len(outputs) != len(expected):
        finding = Finding("results")
        finding.fail("contract", f"{len(outputs)} tensors came back, {len(expected)} were promised")
        return [_row(finding)]
    return [_row(judge(output, each)) for output, each in zip(outputs, expected, strict=True)]


def expect_slot(state: dict[str, Any], *, slot: str) -> None:
    """Make what is expected of a slot, where it is not kept yet."""
    expectations(state, slot)


def form_at(state: dict[str, Any], *, slot: str) -> dict[str, Any]:
    """Whether the reference's tensors have the shapes that the problem says at the selected workload, and
    the longest reduction there."""
    bench = bench_state(state)
    bench.reference.reset()
    inputs = bench.reference.inputs(bench.slot(slot).args)
    results = seeded(0, lambda: bench.reference.forward(_given(bench, bench.slot(slot).args)))
    bench.reference.reset()
    said = [tuple(evaluate(size, bench.axes) for size in spec.shape) for spec in bench.problem.inputs]
    fits = said == [tuple(inputs[spec.name].shape) for spec in bench.problem.inputs]
    fits = fits and [shape for _, _, shape in bench.results()] == [tuple(out.shape) for out in results]
    return {"fits": fits, "reduction": _yardstick(state, bench.slot(slot).args).counts.reduction}


def forget(state: dict[str, Any]) -> None:
    """Drop all expectations, because the weights have changed."""
    for slot in bench_state(state).slots.values():
        slot.expected = None


def expectations(state: dict[str, Any], slot: str) -> list[Expectation]:
    """What is expected of a slot's draw, made now if it is not kept: one for each result."""
    bench = bench_state(state)
    place = bench.slot(slot)
    if place.expected is not None:
        kept: list[Expectation] = place.expected
        return kept
    if not _room_for_one_more(bench):
        forget(state)
    place.expected = made = _expect_or_make_room(state, place.args)
    if bench.device == "cuda" or is_large(bench.problem, bench.workload):
        place.rest()
    if bench.device == "cuda":
        torch.cuda.empty_cache()
    return made


def _room_for_one_more(bench: BenchState) -> bool:
    """Whether what is expected of one more draw fits beside what is kept, and leaves others their room."""
    if bench.device == "cpu":
        return not is_large(bench.problem, bench.workload)
    free, total = torch.cuda.mem_get_info()
    kept = sum(_nbytes(each) for slot in bench.slots.values() for each in slot.expected or ())
    wanted = sum(_expected_bytes(dtype, shape) for _, dtype, shape in bench.results())
    tensors = problem_bytes(bench.problem, bench.workload)
    return (
        kept + wanted <= KEPT * total
        and kept + wanted + BESIDE * tensors <= TAKEN * total
        and wanted + tensors <= free
    )


def _expected_bytes(dtype: torch.dtype, shape: Sequence[int]) -> int:
    """Bytes of one `Expectation` with a result of this form."""
    kept = (dtype, torch.float64, tolerance_type(dtype)) if dtype.is_floating_point else (dtype, dtype)
    return prod(shape) * sum(each.itemsize for each in kept)


def _nbytes(expectation: Expectation) -> int:
    tensors = (expectation.eager, expectation.oracle, expectation.tolerance)
    return sum(tensor.nbytes for tensor in tensors if tensor is not None)


def _expect_or_make_room(state: dict[str, Any], args: list[Any]) -> list[Expectation]:
    """What is expected; a second time, with nothing else kept, where memory runs out."""
    try:
        return _expect(state, args)
    except torch.OutOfMemoryError:
        forget(state)
    torch.cuda.empty_cache()
    return _expect(state, args)


def _expect(state: dict[str, Any], args: list[Any]) -> list[Expectation]:
    """Eager, oracle and perturbed oracle on the slot's arguments, each from the same first state."""
    bench = bench_state(state)
    reference, problem = bench.reference, bench.problem
    yardstick = _yardstick(state, args)
    reference.reset()
    weights = {name: tensor.detach().clone() for name, tensor in reference.weights().items()}
    seed = torch.initial_seed() % (1 << 62)
    eager = seeded(seed, lambda: _apart(reference.forward(_given(bench, args)), bench, args))
    reference.reset()
    exact, moved = truth(yardstick, args, weights, eager, seed)
    names = [*(spec.name for spec in problem.outputs), *problem.mutated]
    return [
        expect(name, own, wide, spread, yardstick.counts.factor)
        for name, own, wide, spread in zip(names, eager, exact, moved, strict=True)
    ]


def _yardstick(state: dict[str, Any], args: list[Any]) -> Yardstick:
    """The oracle of the problem at the workload that is selected now."""
    bench = bench_state(state)
    if isinstance(bench.yardstick, Yardstick):
        return bench.yardstick
    module = bench.reference.module
    try:
        captured = capture(module, args)
        found = Yardstick(oracle(captured), operation_counts(captured))
        if is_large(bench.problem, bench.workload):
            shapes = [shape for _, _, shape in bench.results()]
            found.rows = independent_rows(module, args, shapes, captured)
    except ProblemError:
        if not isinstance(module, torch.nn.Module):
            raise
        retyped = retyped_module(module, bench.problem.mutated)
        found = Yardstick(
            lambda given, weights, jitter=0.0: retyped(_own(given), weights, jitter), UNCAPTURED
        )
    bench.yardstick = found
    return found


def outputs_follow_state(state: dict[str, Any]) -> bool:
    """Whether a second call of the reference, not reset, gives other outputs than the first."""
    bench = bench_state(state)
    if not bench.problem.mutated:
        return False
    given = _given(bench, next(iter(bench.slots.values())).args)
    count = len(bench.problem.outputs)
    bench.reference.reset()
    first, second = (
        seeded(0, lambda: [out.clone() for out in bench.reference.forward(given)[:count]]) for _ in range(2)
    )
    bench.reference.reset()
    return not all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def _given(bench: BenchState, args: list[Any]) -> list[Any]:
    """The arguments, copied where the reference changes its inputs in place."""
    return _own(args) if bench.problem.changes_inputs else args


def _apart(results: list[Tensor], bench: BenchState, args: list[Any]) -> list[Tensor]:
    """Results in memory of their own: a reference may return its arguments, its weights, or one twice.

    Where memory is short, only those are copied of which this can be seen.
    """
    if not is_large(bench.problem, bench.workload):
        return [result.detach().clone() for result in results]
    leaves = [leaf for leaf in pytree.tree_leaves(list(args)) if isinstance(leaf, Tensor)]
    taken = {each.untyped_storage().data_ptr() for each in (*leaves, *bench.reference.weights().values())}
    found = []
    for result in results:
        memory = result.untyped_storage()
        shared = memory.data_ptr() in taken or memory.nbytes() > result.nbytes
        found.append(result.detach().clone() if shared else result.detach())
        taken.add(memory.data_ptr())
    return found


def _own(args: Sequence[Any]) -> list[Any]:
    """Copies, because a reference may change its inputs in place."""
    copies: list[Any] = pytree.tree_map(
        lambda value: value.clone() if isinstance(value, Tensor) else value, list(args)
    )
    return copies


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "kind": finding.kind,
        "message": finding.message,
        "figures": {key: plain(value) for key, value in finding.figures.items() if key != "at"},
    }
