"""Worker-side half of the gates: what runs in the reference's process of a bench, called by name.

    bench.reference.call("kernelwright.verify.compare:compare", slot="a")

Makes the expectation of a slot's draw (oracle, eager, perturbed oracle) once, keeps it, and compares
the outputs that were handed over. No candidate's code runs in this process, and no candidate's context
can address what is kept here. Every function takes the process's `state` first and returns JSON. On a
GPU, where one expectation may take a tenth of the memory, only those that leave room are kept.

Not covered: drawing, running and handing over (`execute.ops`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError
from kernelwright.core.expr import evaluate
from kernelwright.execute.state import bench_state
from kernelwright.graph.capture import capture
from kernelwright.graph.oracle import Oracle, oracle, retyped_module
from kernelwright.verify.bounds import Counts, roundoff
from kernelwright.verify.counts import operation_counts
from kernelwright.verify.expectation import Expectation, Spread, cut, expect
from kernelwright.verify.judge import Finding, judge, plain

PERTURBED_DRAWS = 4
"""One less for large outputs. With two, the movement of a whole row can come out far too small by chance:
an honest instance norm on ill-conditioned data used 96 % of its tolerance, with three 28 %."""
MANY = 1 << 24
"""Elements of all outputs together that count as large."""
ONE_KEPT, ALL_KEPT = 0.0625, 0.25
"""Shares of a GPU's memory that one expectation, and all together, may take for long."""
PERIOD = 1_000_003
"""Length of the sign pattern of a perturbation."""
UNCAPTURED = Counts(reduction=1, roundings=64)
"""Counts of a reference that cannot be captured: eager's own error has to carry the bound."""


@dataclass
class Yardstick:
    """What is made once per problem and sizes: the oracle, and the counts behind the factor."""

    oracle: Oracle
    counts: Counts


def compare(state: dict[str, Any], *, slot: str, like: str | None = None) -> list[dict[str, Any]]:
    """Compare what was handed over in `slot` with the expectation of its inputs; one row per result.

    `like` names another slot whose inputs the run was given.
    """
    expectations = _expectations(state, like or slot)
    outputs = bench_state(state).slot(slot).outputs
    if len(outputs) != len(expectations):
        finding = Finding("results")
        finding.fail("contract", f"{len(outputs)} tensors came back, {len(expectations)} were promised")
        return [_row(finding)]
    return [_row(judge(output, each)) for output, each in zip(outputs, expectations, strict=True)]


def expect_slot(state: dict[str, Any], *, slot: str) -> None:
    """Make what is expected of a slot, where it is not kept yet."""
    _expectations(state, slot)


def compare_samples(state: dict[str, Any], *, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare pieces of outputs, read while a clock ran, with the same pieces of the expectation.

    A sample names its slot, output, first byte and size, and holds the bytes in hexadecimal.
    """
    if _outputs_follow_state(state):
        return {"compared": 0, "wrong": 0, "why": "outputs depend on state that each call changes"}
    made: dict[str, list[Expectation]] = {}
    wrong = 0
    for sample in samples:
        slot = sample["slot"]
        if slot not in made:
            made[slot] = _expectations(state, slot)
        piece = cut(made[slot][sample["tensor"]], sample["first"], sample["size"])
        data = torch.frombuffer(bytearray.fromhex(sample["data"]), dtype=piece.eager.dtype)
        wrong += judge(data.to(piece.eager.device), piece).kind is not None
    return {"compared": len(samples), "wrong": wrong}


def form_at(state: dict[str, Any], *, slot: str) -> dict[str, Any]:
    """Whether the reference's tensors have the shapes that the problem says at the selected workload, and
    the longest reduction there."""
    bench = bench_state(state)
    bench.reference.reset()
    inputs = bench.reference.inputs(bench.slot(slot).args)
    results = _seeded(0, lambda: bench.reference.forward(_own(bench.slot(slot).args)))
    bench.reference.reset()
    said = [tuple(evaluate(size, bench.axes) for size in spec.shape) for spec in bench.problem.inputs]
    fits = said == [tuple(inputs[spec.name].shape) for spec in bench.problem.inputs]
    fits = fits and [shape for _, _, shape in bench.results()] == [tuple(out.shape) for out in results]
    return {"fits": fits, "reduction": _yardstick(state, bench.slot(slot).args).counts.reduction}


def forget(state: dict[str, Any]) -> None:
    """Drop all expectations, because the weights have changed."""
    for slot in bench_state(state).slots.values():
        slot.expected = None


def perturbed(tensor: Any, unit: float, generator: torch.Generator) -> Any:
    """`tensor` in float64 with every element multiplied by 1 + unit or 1 - unit; others as they are.

    Signs repeat after a prime number of elements, so that they line up with no row length.
    """
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        return tensor
    wide = tensor.detach().to(torch.float64, copy=True, memory_format=torch.contiguous_format)
    flat = wide.view(-1)
    factors = torch.empty(min(PERIOD, flat.numel()), dtype=torch.float64, device=flat.device)
    factors.bernoulli_(0.5, generator=generator).mul_(2 * unit).add_(1 - unit)
    for start in range(0, flat.numel(), PERIOD):
        flat[start : start + PERIOD].mul_(factors[: flat.numel() - start])
    return wide


def _expectations(state: dict[str, Any], slot: str) -> list[Expectation]:
    bench = bench_state(state)
    place = bench.slot(slot)
    if place.expected is not None:
        kept: list[Expectation] = place.expected
        return kept
    made = _expect(state, place.args)
    others = [each for other in bench.slots.values() for each in other.expected or ()]
    if bench.device == "cpu" or _room_for(made, others):
        place.expected = made
    if bench.device == "cuda":
        place.rest()
        torch.cuda.empty_cache()
    return made


def _room_for(made: list[Expectation], others: list[Expectation]) -> bool:
    """Whether a GPU's memory still has room for the work on other draws if these are kept too."""
    total = torch.cuda.get_device_properties(0).total_memory
    own, kept = _nbytes(made), _nbytes(others)
    return own <= ONE_KEPT * total and own + kept <= ALL_KEPT * total


def _nbytes(expectations: list[Expectation]) -> int:
    tensors = [tensor for each in expectations for tensor in (each.eager, each.oracle, each.tolerance)]
    return sum(tensor.nbytes for tensor in tensors if tensor is not None)


def _expect(state: dict[str, Any], args: list[Any]) -> list[Expectation]:
    """Eager, oracle and perturbed oracle on the slot's arguments, each from the same first state."""
    reference, problem = bench_state(state).reference, bench_state(state).problem
    yardstick = _yardstick(state, args)
    reference.reset()
    weights = {name: tensor.detach().clone() for name, tensor in reference.weights().items()}
    seed = torch.initial_seed() % (1 << 62)
    eager = _seeded(seed, lambda: [out.detach().clone() for out in reference.forward(_own(args))])
    reference.reset()
    exact = _seeded(seed, lambda: yardstick.oracle(_own(args), weights))
    spread = Spread(exact)
    generator = torch.Generator(device=exact[0].device).manual_seed(torch.seed() % (1 << 62))
    unit = _finest(args, weights, eager)
    for _ in range(PERTURBED_DRAWS - (sum(out.numel() for out in exact) >= MANY)):
        near = pytree.tree_map(lambda value: perturbed(value, unit, generator), list(args))
        near_weights = {name: perturbed(value, unit, generator) for name, value in weights.items()}
        spread.add(_seeded(seed, lambda: yardstick.oracle(near, near_weights)))  # noqa: B023
    names = [*(spec.name for spec in problem.outputs), *problem.mutated]
    return [
        expect(name, own, wide, moved, yardstick.counts.factor)
        for name, own, wide, moved in zip(names, eager, exact, spread.result(), strict=True)
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
    except ProblemError:
        if not isinstance(module, torch.nn.Module):
            raise
        found = Yardstick(retyped_module(module, bench.problem.mutated), UNCAPTURED)
    bench.yardstick = found
    return found


def _outputs_follow_state(state: dict[str, Any]) -> bool:
    """Whether a second call of the reference, not reset, gives other outputs than the first."""
    bench = bench_state(state)
    if not bench.problem.mutated:
        return False
    args = next(iter(bench.slots.values())).args
    count = len(bench.problem.outputs)
    bench.reference.reset()
    first, second = (
        _seeded(0, lambda: [out.clone() for out in bench.reference.forward(_own(args))[:count]])
        for _ in range(2)
    )
    bench.reference.reset()
    return not all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def _finest(args: list[Any], weights: dict[str, Tensor], eager: list[Tensor]) -> float:
    tensors = [*pytree.tree_leaves(list(args)), *weights.values(), *eager]
    return min(
        (roundoff(each.dtype) for each in tensors if isinstance(each, Tensor) and each.is_floating_point()),
        default=0.0,
    )


def _own(args: list[Any]) -> list[Any]:
    """Copies, because a reference may change its inputs in place."""
    copies: list[Any] = pytree.tree_map(
        lambda value: value.clone() if isinstance(value, Tensor) else value, list(args)
    )
    return copies


def _seeded(seed: int, run: Callable[[], list[Tensor]]) -> list[Tensor]:
    """Run with torch's generators at `seed`: whatever draws, draws the same each time."""
    torch.manual_seed(seed)
    with torch.no_grad():
        return run()


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "kind": finding.kind,
        "message": finding.message,
        "figures": {key: plain(value) for key, value in finding.figures.items() if key != "at"},
    }
